"""Makes a picture of matplotlib's small: the same picture, in a fifth of the bytes.

Coordinates have one digit after the point (a tenth of a point), those of shapes that are used again
two; paths are relative; each style is a class, written once; names that nothing refers to and
groups that say nothing are left out.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

SVG = "http://www.w3.org/2000/svg"
HREF = "{http://www.w3.org/1999/xlink}href"
NUMBER = re.compile(r"-?\d*\.?\d+(?:e-?\d+)?")
REFERENCE = re.compile(r"#([\w.-]+)")
NO_ROTATION = re.compile(r"rotate\(-?0 [^)]*\)")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Numbers of one step of a path, by its letter.
OPERANDS = {"M": 2, "L": 2, "Q": 4, "C": 6, "z": 0}


def compact(picture: str) -> str:
    """`picture`, as matplotlib writes it."""
    ElementTree.register_namespace("", SVG)
    root = ElementTree.fromstring(picture)
    for element in root.iter():
        element.text = (element.text or "").strip() or None
        element.tail = None
    _shorten_numbers(root, digits=1)
    _share_shapes(root)
    _shorten_names(root)
    _unwrap(root)
    _name_styles(root)
    _unwrap(root)
    return ElementTree.tostring(root, encoding="unicode").replace(" />", "/>") + "\n"


def _shorten_numbers(element: Element, digits: int) -> None:
    if element.tag == f"{{{SVG}}}defs":
        digits = 2
    for name, value in list(element.attrib.items()):
        if name == "d":
            element.set(name, path(value, digits))
        elif NO_ROTATION.fullmatch(value):
            del element.attrib[name]
        elif name in ("x", "y", "width", "height") and NUMBER.fullmatch(value):
            element.set(name, _number(round(float(value) * 10**digits), digits))
        elif name == "transform":
            shorter = NUMBER.sub(lambda n: _number(round(float(n[0]) * 100), 2), value)
            element.set(name, shorter)
    for child in element:
        _shorten_numbers(child, digits)


def path(text: str, digits: int) -> str:
    """A path of absolute steps as one of relative ones; no rounding adds up."""
    words = iter(re.findall(rf"[A-Za-z]|{NUMBER.pattern}", text))
    scale = 10**digits
    here = start = (0, 0)
    result = ""
    before = ""
    for letter in words:
        numbers = [round(float(next(words)) * scale) for _ in range(OPERANDS[letter])]
        if letter == "z":
            here = start
            result += "z"
            before = ""
            continue
        moves = [n - here[at % 2] for at, n in enumerate(numbers)]
        here = (numbers[-2], numbers[-1])
        start = here if letter == "M" else start
        step = letter.lower()
        if letter == "L" and 0 in moves:
            step = "h" if moves[1] == 0 else "v"
            moves = [moves[0] or moves[1]]
        # Further pairs behind a move are lines.
        same = step == before or (step, before) == ("l", "m")
        result += _step("" if same else step, [_number(n, digits) for n in moves])
        before = step
    return result


def _step(letter: str, numbers: list[str]) -> str:
    """A minus parts numbers by itself, and so does the letter."""
    text = letter
    for at, each in enumerate(numbers):
        text += each if each[0] == "-" or (letter and at == 0) else f" {each}"
    return text


def _number(scaled: int, digits: int) -> str:
    text = f"{scaled / 10**digits:.{digits}f}"
    return re.sub(r"^(-?)0\.", r"\1.", text.rstrip("0").rstrip(".")).replace("-0", "0")


def _shorten_names(root: Element) -> None:
    """Of what is referred to; all others go."""
    names = (
        letters for length in (1, 2, 3) for letters in itertools.product(LETTERS, repeat=length)
    )
    short: dict[str, str] = {}
    for value in _values(root):
        for found in REFERENCE.findall(value[1] if value[0] != "style" else ""):
            if root.find(f".//*[@id='{found}']") is not None and found not in short:
                short[found] = "".join(next(names))
    for element in root.iter():
        name = element.attrib.pop("id", None)
        if name in short:
            element.set("id", short[name])
        if HREF in element.attrib:
            element.set("href", "#" + short[element.attrib.pop(HREF)[1:]])
        clip = element.get("clip-path")
        if clip:
            element.set("clip-path", REFERENCE.sub(lambda name: "#" + short[name[1]], clip))


def _share_shapes(root: Element) -> None:
    """Of like shapes one is kept. It has the style if all that use it have the same; its own style,
    a part of that, goes."""
    shapes: dict[str, Element] = {}  # by their paths
    same: dict[str, Element] = {}  # by their names
    for shape in root.iterfind(f".//{{{SVG}}}defs/{{{SVG}}}path"):
        same[shape.get("id", "")] = shapes.setdefault(shape.get("d", ""), shape)
    users: dict[str, list[Element]] = {}
    for use in root.iter(f"{{{SVG}}}use"):
        name = same[use.get(HREF, "")[1:]].get("id", "")
        use.set(HREF, f"#{name}")
        users.setdefault(name, []).append(use)
    for parent in root.iter(f"{{{SVG}}}defs"):
        parent[:] = [each for each in parent if same.get(each.get("id", ""), each) is each]
    for name, uses in users.items():
        styles = {use.get("style", "") for use in uses}
        same[name].attrib.pop("style", None)
        if len(styles) == 1:
            same[name].set("style", styles.pop())
            for use in uses:
                use.attrib.pop("style", None)


def _values(root: Element) -> Iterator[tuple[str, str]]:
    return ((name, value) for element in root.iter() for name, value in element.attrib.items())


def _unwrap(parent: Element) -> None:
    """Leaves out groups without attributes or content; what all of a group share is the group's."""
    children = []
    for child in list(parent):
        _unwrap(child)
        group = child.tag in (f"{{{SVG}}}g", f"{{{SVG}}}defs")
        if child.tag == f"{{{SVG}}}g" and not child.attrib:
            children += list(child)
        elif len(child) or not group:
            children.append(child)
    parent[:] = children
    if parent.tag == f"{{{SVG}}}g" and len(children) > 1:
        classes = {child.get("class") for child in children}
        if len(classes) == 1 and None not in classes:
            parent.set("class", f"{parent.get('class', '')} {classes.pop()}".strip())
            for child in children:
                del child.attrib["class"]


def _name_styles(root: Element) -> None:
    """Each style becomes a class, clipping included."""
    classes: dict[str, str] = {}
    for element in root.iter():
        style = element.attrib.pop("style", "").replace(": ", ":").replace("; ", ";")
        clip = element.attrib.pop("clip-path", "")
        if clip:
            style = f"clip-path:{clip};{style}"
        if style:
            element.set("class", classes.setdefault(style, f"c{len(classes)}"))
    sheet = root.find(f".//{{{SVG}}}style")
    assert sheet is not None
    sheet.text = (sheet.text or "") + "".join(
        f".{name}{{{style}}}" for style, name in classes.items()
    )
