"""stub"""
from pathlib import Path
from chasqui.playing.form import Actions
from chasqui.playing.source import Settings, Source

def is_one(path: Path, beginning: bytes) -> bool:
    return False

def read(source: Source, folder: Path, settings: Settings) -> Actions:
    raise NotImplementedError
