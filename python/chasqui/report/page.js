"use strict";
// The page's script: unpacks the library and the data, draws charts one after the other, and makes
// the timeline, whose picture depends on what is in view. All else is in the page without it.
(() => {
  const element = (name) => document.getElementById(name);
  const charts = JSON.parse(element("charts").textContent);
  const drawn = new Map(); // of a chart's element: the name of its figure
  const MESSAGES = 1500, CALLS = 1500, FOUND = 20; // drawn, or listed, at a time
  const CONFIG = {
    responsive: true, displaylogo: false, doubleClickDelay: 400,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };

  // --- unpacking: the reverse of frame.packed and columns.pack ---------------------------------

  async function unpack(text) {
    const letters = atob(text);
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  // As a file: the browser compiles those while it does other things.
  function runScript(bytes) {
    const source = URL.createObjectURL(new Blob([bytes], { type: "text/javascript" }));
    return new Promise((go) => document.head.append(make("script", { src: source, onload: go })));
  }

  async function unpackColumns({ rows, widths, packed }) {
    const bytes = await unpack(packed);
    const columns = { rows };
    let at = 0;
    for (const [name, width] of Object.entries(widths)) {
      const column = new Float64Array(rows);
      for (let plane = 0, weight = 1; plane < width; plane++, weight *= 256) {
        for (let row = 0; row < rows; row++) column[row] += bytes[at++] * weight;
      }
      for (let row = 0; row < rows; row++) {
        const small = column[row] - 1;
        column[row] = small < 0 ? NaN : small % 2 ? -(small + 1) / 2 : small / 2;
      }
      columns[name] = column;
    }
    return columns;
  }

  // Stages are kept as differences: from the row before, or the stage before.
  function unchain(columns, stages) {
    let call = 0;
    for (let row = 0; row < columns.rows; row++) {
      const first = columns[`${stages[0]}_ps`];
      call = Number.isNaN(first[row]) ? 0 : first[row] + call;
      if (!Number.isNaN(first[row])) first[row] = call;
      let last = call;
      for (const stage of stages.slice(1)) {
        const column = columns[`${stage}_ps`];
        if (!Number.isNaN(column[row])) last = column[row] += last;
      }
    }
  }

  // --- elements --------------------------------------------------------------------------------

  function make(name, attributes = {}, ...parts) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else made.setAttribute(key, value);
    }
    made.append(...parts);
    return made;
  }

  function makeTable(header, rows) {
    const cell = (kind) => (value) =>
      make(kind, value instanceof Node || !/^[-\d]/.test(value) ? {} : { class: "number" }, value);
    return make("table", {},
      make("thead", {}, make("tr", {}, ...header.map(cell("th")))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map(cell("td"))))));
  }

  const digits = (value, most = 3) => value.toLocaleString("en", { maximumFractionDigits: most });
  const shown = (value) => (Number.isNaN(value) ? "-" : digits(value));

  // --- charts ----------------------------------------------------------------------------------

  function style() {
    const values = getComputedStyle(document.documentElement);
    return (name) => values.getPropertyValue(`--${name}`).trim();
  }

  function themed(figure, width) {
    const colour = style();
    const { data: traces, layout } = structuredClone(figure);
    for (const trace of traces) {
      if (trace.colorscale === "theme") trace.colorscale = [[0, colour("low")], [1, colour("high")]];
      if (Array.isArray(trace.marker?.colors)) {
        trace.marker.colors = trace.marker.colors.map((each) =>
          ({ theme: colour("flame"), "theme-strong": colour("flame-strong") })[each] ?? each);
        trace.marker.line.color = colour("ground");
      }
      if (trace.type === "icicle") trace.textfont = { color: colour("text"), size: 12 };
    }
    const font = getComputedStyle(document.body).fontFamily;
    const axis = { gridcolor: colour("line"), zerolinecolor: colour("line"),
      linecolor: colour("line"), automargin: true };
    layout.xaxis = { ...axis, ...layout.xaxis };
    layout.yaxis = { ...axis, ...layout.yaxis };
    layout.font = { family: font, size: 12, color: colour("text") };
    layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
    layout.hoverlabel = { bgcolor: colour("card"), bordercolor: colour("line"),
      font: { family: font, size: 12, color: colour("text") }, align: "left", namelength: -1 };
    layout.margin = { l: 50, r: 15, t: layout.title ? 40 : 12, b: 45, ...layout.margin };
    if (layout.title) layout.title = { ...layout.title, font: { size: 14 }, x: 0.02 };
    if (matchMedia("(pointer: coarse)").matches) layout.dragmode = false; // fingers scroll the page
    if (layout.legend === "below") {
      // Above the picture, in fact: there it takes the room that it needs.
      const narrow = width < 600, room = width - (layout.yaxis.type === "category" ? 150 : 60);
      const lines = Math.ceil(traces.length / Math.max(Math.floor(room / 140), 1));
      layout.legend = { orientation: "h", x: 0, y: 1.01, yanchor: "bottom", maxheight: 0.9,
        font: { size: narrow ? 11 : 12 }, traceorder: "normal" };
      layout.showlegend = true;
      layout.height += 19 * Math.max(lines - 1, 0);
    }
    return { traces, layout };
  }

  async function draw(place, name) {
    const { traces, layout } = themed(charts[name], place.clientWidth);
    place.style.minHeight = `${layout.height}px`;
    await Plotly.react(place, traces, layout, CONFIG);
    drawn.set(place, name);
  }

  // --- the timeline ----------------------------------------------------------------------------

  const PS_PER_US = 1e6;
  let traffic = null;

  async function loadTraffic(given) {
    const messages = await unpackColumns(given.messages);
    unchain(messages, given.messages.stages);
    const calls = await unpackColumns(given.calls);
    // Where lines begin and end: the call, and the last that is known of the message.
    const starts = new Float64Array(messages.rows), ends = new Float64Array(messages.rows);
    for (let row = 0; row < messages.rows; row++) {
      const times = given.messages.stages
        .filter((stage) => !["receive_call", "post", "wait_call"].includes(stage))
        .map((stage) => messages[`${stage}_ps`][row]).filter((time) => !Number.isNaN(time));
      const done = messages.done_ps[row];
      starts[row] = Math.min(...times) / PS_PER_US;
      ends[row] = (Number.isNaN(done) ? Math.max(...times) : done) / PS_PER_US;
    }
    traffic = { ...given, columns: messages, calls: { ...given.calls, columns: calls }, starts, ends,
      view: [...given.window], all: [...given.window] };
  }

  // So many of the rows in view: of messages evenly chosen, of calls the longest.
  function callsInView() {
    const { calls, view } = traffic, { columns } = calls;
    const rows = [];
    for (let row = 0; row < columns.rows; row++) {
      const start = columns.start_ps[row] / PS_PER_US;
      if (start <= view[1] && start + columns.length_ps[row] / PS_PER_US >= view[0]) rows.push(row);
    }
    if (rows.length > CALLS) {
      rows.sort((a, b) => columns.length_ps[b] - columns.length_ps[a]);
    }
    return [rows.slice(0, CALLS), rows.length];
  }

  function messagesInView() {
    const { columns, view, starts, ends } = traffic;
    const rows = [];
    for (let row = 0; row < columns.rows; row++) {
      if (starts[row] <= view[1] && ends[row] >= view[0] && columns.destination[row] >= 0) rows.push(row);
    }
    if (rows.length <= MESSAGES) return [rows, rows.length];
    const some = Array.from({ length: MESSAGES }, (_, i) => rows[Math.floor(i * rows.length / MESSAGES)]);
    return [some, rows.length];
  }

  function trafficTraces(calls, messages) {
    const { columns, starts, ends } = traffic, { columns: of, names, kinds } = traffic.calls;
    const bars = kinds.map(([name, color]) => ({
      type: "bar", orientation: "h", name, base: [], x: [], y: [], text: [], width: 0.46,
      marker: { color, opacity: 0.4, line: { width: 0 } }, textposition: "none",
      hovertemplate: "%{text}<extra></extra>",
    }));
    for (const row of calls) {
      const bar = bars[of.kind[row]], length = of.length_ps[row] / PS_PER_US;
      bar.base.push(of.start_ps[row] / PS_PER_US);
      bar.x.push(length);
      bar.y.push(of.rank[row]);
      bar.text.push(`rank ${of.rank[row]}: ${names[of.name[row]]}, ${digits(length)} us` +
        (of.open[row] ? ", never returned" : ""));
    }
    const many = messages.length > 300;
    const lines = [...traffic.messages.mechanisms, "no mechanism"].map((name, at) => ({
      type: "scatter", mode: "lines+markers", name, x: [], y: [], customdata: [], text: [],
      line: { color: traffic.messages.colours[at] ?? style()("quiet"), width: many ? 0.8 : 1.4 },
      marker: { size: many ? 4 : 8, line: { width: many ? 0 : 1, color: style()("ground") } }, hovertemplate: "%{text}<extra></extra>", connectgaps: false,
    }));
    for (const row of messages) {
      const mechanism = columns.mechanism[row];
      const line = lines[Number.isNaN(mechanism) ? lines.length - 1 : mechanism];
      line.x.push(starts[row], ends[row], null);
      line.y.push(columns.source[row], columns.destination[row], null);
      line.customdata.push(row, row, row);
      const text = `${title(row)}<br>tag ${shown(columns.tag[row])}, ${shown(columns.bytes[row])} bytes, ` +
        `${line.name}<br>${digits(ends[row] - starts[row])} us; click: its life`;
      line.text.push(text, text, "");
    }
    return [...bars, ...lines].filter((trace) => trace.x.length);
  }

  function title(row) {
    const { columns } = traffic;
    return `message ${shown(columns.sequence[row])} of rank ${shown(columns.source[row])}` +
      ` to rank ${shown(columns.destination[row])}`;
  }

  async function drawTraffic() {
    const place = element("chart-traffic");
    const [calls, callCount] = callsInView(), [messages, messageCount] = messagesInView();
    const traces = trafficTraces(calls, messages);
    const height = Math.min(900, 200 + Math.max(36 * traffic.ranks, 160));
    const layout = {
      height, barmode: "overlay", hovermode: "closest", legend: "below", uirevision: "timeline",
      xaxis: { title: { text: "time [us]" }, range: [...traffic.view] },
      yaxis: { title: { text: "rank" }, range: [traffic.ranks - 0.5, -0.5], tickformat: "d",
        dtick: traffic.ranks <= 24 ? 1 : undefined, fixedrange: traffic.ranks <= 24 },
    };
    const figure = themed({ data: traces, layout }, place.clientWidth);
    place.style.minHeight = `${figure.layout.height}px`;
    const some = (drawn_, count, what) =>
      drawn_ < count ? `${digits(drawn_)} of ${digits(count)} ${what}` : `all ${digits(count)} ${what}`;
    element("shown").textContent = `In view: ${some(calls.length, callCount, "calls")}, ` +
      `${some(messages.length, messageCount, "messages")}` +
      (calls.length < callCount || messages.length < messageCount ? "; a closer look has more." : ".");
    await Plotly.react(place, figure.traces, figure.layout, { ...CONFIG, doubleClick: false });
  }

  function look(from, to) {
    traffic.view = [from, to];
    return drawTraffic();
  }

  async function startTraffic(place) {
    await loadTraffic(JSON.parse(element("data").textContent).traffic);
    const tool = (name, label, from, to) => make("button", { class: "tool", type: "button",
      "aria-label": label, onclick: () => {
        const [start, end] = traffic.view, length = end - start;
        look(start + from * length, end + to * length);
      } }, name);
    place.before(make("div", { class: "tools", role: "group", "aria-label": "What is in view" },
      tool("+", "Closer", 0.25, -0.25), tool("−", "Farther", -0.5, 0.5),
      tool("←", "Earlier", -0.5, -0.5), tool("→", "Later", 0.5, 0.5),
      make("button", { class: "tool", type: "button", onclick: () => look(...traffic.all) }, "All")));
    await drawTraffic();
    place.on("plotly_relayout", (change) => {
      const from = change["xaxis.range[0]"], to = change["xaxis.range[1]"];
      if (from !== undefined && (from !== traffic.view[0] || to !== traffic.view[1])) look(from, to);
    });
    place.on("plotly_doubleclick", () => look(...traffic.all));
    place.on("plotly_click", ({ points }) => {
      const row = points.map((point) => point.customdata).find((each) => each !== undefined);
      if (row !== undefined) showLife(row);
    });
    startSearch();
  }

  function showLife(row) {
    const { columns, messages, starts, ends } = traffic;
    const time = (stage) => columns[`${stage}_ps`][row];
    const stages = messages.stages.filter((stage) => !Number.isNaN(time(stage)))
      .sort((a, b) => time(a) - time(b));
    const first = time(stages[0]), context = columns.context[row];
    const facts = [
      `tag ${shown(columns.tag[row])}`, `${shown(columns.bytes[row])} bytes`,
      messages.mechanisms[columns.mechanism[row]] ?? "no mechanism",
      Number.isNaN(context) ? "" : context % messages.contexts ? "of a collective" : "point to point",
      `${digits(ends[row] - starts[row])} us from call to end`,
    ].filter(Boolean).join(", ");
    // As data.Messages.milestones: what came before an earlier part takes no time.
    let latest = -Infinity;
    const known = messages.parts.filter(([, from, to]) => !Number.isNaN(time(from)) && !Number.isNaN(time(to)));
    const parts = known.map(([name, from, to, colour]) => {
      const begins = Math.max(latest, time(from));
      latest = Math.max(begins, time(to));
      return { name, colour, begins, lasts: latest - begins };
    }).filter(({ lasts }) => lasts > 0);
    const begin = parts.length ? parts[0].begins : 0, whole = latest - begin;
    const strip = parts.map(({ name, colour, begins, lasts }) => make("i", { title: name, style:
      `left:${100 * (begins - begin) / whole}%;width:${100 * lasts / whole}%;background:${colour}` }));
    const keys = parts.map(({ name, colour, lasts }) => make("li", {},
      make("i", { style: `background:${colour}` }), `${name} ${digits(lasts / 1e3)} ns`));
    const rows = stages.map((stage, at) => [stage.replaceAll("_", " "), messages.words[stage] ?? "",
      digits(time(stage) / 1e3), at ? digits((time(stage) - time(stages[at - 1])) / 1e3) : "-",
      digits((time(stage) - first) / 1e3)]);
    const life = element("life");
    life.replaceChildren(
      make("h3", {}, title(row)), make("p", {}, facts), make("div", { class: "strip" }, ...strip),
      make("ul", { class: "keys" }, ...keys),
      make("div", { class: "wide", tabindex: "0" }, makeTable(["stage", "what happens", "time [ns]",
        "since the stage before [ns]", "since the first [ns]"], rows)),
      make("div", { class: "tools" },
        make("button", { class: "tool", type: "button", onclick: () => {
          const around = (ends[row] - starts[row]) * 2 || 1;
          look(starts[row] - around, ends[row] + around);
        } }, "Look closer"),
        make("button", { class: "tool", type: "button", onclick: () => life.replaceChildren() }, "Close")));
    life.focus({ preventScroll: true });
    life.scrollIntoView({ block: "nearest" });
  }

  function startSearch() {
    const form = element("search");
    if (!form) return;
    const search = () => {
      const wanted = Object.fromEntries(new FormData(form)), { columns, starts, ends } = traffic;
      const fits = (name, row) => wanted[name] === "" || columns[name][row] === Number(wanted[name]);
      const rows = [];
      for (let row = 0; row < columns.rows; row++) {
        if (fits("source", row) && fits("destination", row) && fits("tag", row) &&
          fits("mechanism", row) && (wanted.bytes === "" || columns.bytes[row] >= wanted.bytes)) rows.push(row);
      }
      rows.sort(wanted.order === "time" ? (a, b) => starts[a] - starts[b]
        : (a, b) => (ends[b] - starts[b]) - (ends[a] - starts[a]));
      const list = rows.slice(0, FOUND).map((row) => [
        make("button", { type: "button", onclick: () => showLife(row) }, title(row)),
        shown(columns.tag[row]), shown(columns.bytes[row]),
        traffic.messages.mechanisms[columns.mechanism[row]] ?? "-",
        digits(starts[row]), digits(ends[row] - starts[row])]);
      element("found").replaceChildren(
        make("p", { class: "note" }, `${digits(rows.length)} found` +
          (rows.length > FOUND ? `; the first ${FOUND}:` : ".")),
        ...(rows.length ? [makeTable(["message", "tag", "bytes", "mechanism", "call [us]", "life [us]"], list)] : []));
    };
    form.addEventListener("input", search);
    form.addEventListener("submit", (event) => event.preventDefault());
    search();
  }

  // --- tables ----------------------------------------------------------------------------------

  const UNITS = { ps: 1, ns: 1e3, us: 1e6, ms: 1e9, s: 1e12 };

  function weight(text) {
    const match = /^(?:≤ )?(-?[\d,]*\.?\d+(?:e[-+]?\d+)?)(?: (ps|ns|us|ms|s))?\b/.exec(text);
    return match ? Number(match[1].replaceAll(",", "")) * (UNITS[match[2]] ?? 1) : NaN;
  }

  function sortBy(table, column, head) {
    const down = head.getAttribute("aria-sort") !== "descending";
    for (const each of table.querySelectorAll("thead th")) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => row.cells[column]?.textContent ?? "";
    const compare = (a, b) => {
      const [x, y] = [weight(key(a)), weight(key(b))];
      if (Number.isNaN(x) && Number.isNaN(y)) return key(a).localeCompare(key(b), "en");
      if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) ? -1 : 1;
      return x - y;
    };
    const body = table.tBodies[0];
    body.append(...[...body.rows].sort((a, b) => (down ? compare(b, a) : compare(a, b))));
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      head.replaceChildren(make("button", { type: "button", onclick: () => sortBy(table, column, head) },
        head.textContent));
    });
  }

  // --- all of it -------------------------------------------------------------------------------

  const rest = () => new Promise((go) => setTimeout(go)); // the browser may paint, and hear

  async function start() {
    if (!element("library")) return;
    const read = new Promise((go) => document.addEventListener("DOMContentLoaded", go)); // all of it
    await runScript(await unpack(element("library").textContent));
    for (const place of document.querySelectorAll(".chart")) {
      if (place.dataset.chart) await draw(place, place.dataset.chart);
      else await read.then(() => startTraffic(place));
      if (!performance.getEntriesByName("first chart").length) {
        await new Promise((go) => requestAnimationFrame(go));
        performance.mark("first chart");
      }
      await rest();
    }
    for (const select of document.querySelectorAll("select[data-for]")) {
      select.addEventListener("change", () => draw(element(select.dataset.for), select.value));
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", async () => {
      for (const [place, name] of drawn) await draw(place, name);
      if (traffic) await drawTraffic();
    });
    performance.mark("all charts");
  }

  start();
})();
