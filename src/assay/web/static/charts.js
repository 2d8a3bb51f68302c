// Draw each chart that can be zoomed in place of its SVG; without this script the SVG stays.
const VEGA = "/static/vega.min.js";
const charts = new Map(); // the drawn charts by the id of their plot
const REACH = 10; // pixels within which a floor is taken

// Colours are read from the tokens, so a chart follows the theme.
const resolveTokens = (value, style) => {
  if (typeof value === "string") {
    return value.replace(/^var\((--[\w-]+)\)$/, (_, name) => style.getPropertyValue(name).trim());
  }
  if (Array.isArray(value)) return value.map((one) => resolveTokens(one, style));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, resolveTokens(one, style)]));
  }
  return value;
};
const themeOf = (style) => {
  const token = (name) => style.getPropertyValue(name).trim();
  const label = { font: token("--sans"), labelFontSize: 11, titleFontSize: 11, titleFontWeight: 400 };
  return {
    aria: false, // the plot has a sentence and a table
    mark: { aria: false },
    background: null,
    view: { stroke: null },
    font: token("--sans"),
    text: { fontSize: 11 },
    axis: {
      ...label, labelColor: token("--text-2"), titleColor: token("--text-2"), gridColor: token("--line"),
      domainColor: token("--line-2"), tickColor: token("--line-2"), titlePadding: 8,
    },
  };
};

const specOf = (figure) => JSON.parse(figure.dataset.chart);
const draw = async (figure) => {
  const plot = figure.querySelector(".plot");
  const style = getComputedStyle(document.documentElement);
  const spec = specOf(figure);
  const options = { actions: false, ast: true, renderer: "svg", defaultStyle: false, tooltip: false };
  figure.classList.add("drawn"); // the width of the plot is known only when it is shown
  const { view, finalize } = await vegaEmbed(plot, resolveTokens(spec, style), { ...options, config: themeOf(style) });
  charts.get(plot.id)?.finalize();
  charts.set(plot.id, { view, finalize, plot, figure, floors: spec.usermeta?.floors ?? {} });
};

// New values after a floor was moved: the drawing stays, so that a drag goes on.
const update = (figure) => {
  const chart = charts.get(figure.querySelector(".plot").id);
  const spec = specOf(figure);
  chart.figure = figure;
  chart.view.data("points", spec.datasets.points);
  for (const { name, value } of spec.params) if (drag?.signal !== name) chart.view.signal(name, value);
  chart.view.runAsync();
  figure.classList.add("drawn");
};

const drawAll = () => document.querySelectorAll("figure[data-chart]").forEach((figure) => {
  const plot = figure.querySelector(".plot");
  const known = charts.get(plot.id);
  if (known && known.plot === plot && plot.firstElementChild) update(figure);
  else draw(figure);
});
const redrawAll = () => document.querySelectorAll("figure[data-chart]").forEach(draw);

// A floor is dragged on the chart: its slider follows, and with it the choice.
let drag = null;
const chartOf = (target) => charts.get(target.closest?.(".plot")?.id);
const scaleOf = (chart, side) => chart.view.scale(side);
const place = (chart, event, side) => {
  const box = chart.plot.querySelector("svg").getBoundingClientRect();
  const [left, top] = chart.view.origin();
  return side === "x" ? event.clientX - box.left - left : event.clientY - box.top - top;
};
const floorAt = (chart, event) => Object.keys(chart.floors).find((side) => {
  const scale = scaleOf(chart, side);
  const [low, high] = scale.domain();
  const value = chart.view.signal(`${side}_floor`) ?? low;
  return Math.abs(scale(Math.min(high, Math.max(low, value))) - place(chart, event, side)) <= REACH;
});
const moveFloor = (event) => {
  const { chart, side, input } = drag;
  const scale = scaleOf(chart, side);
  const [low, high] = scale.domain();
  const value = Math.min(high, Math.max(low, scale.invert(place(chart, event, side))));
  input.value = value;
  const isOff = input.value === input.dataset.off;
  chart.view.signal(drag.signal, isOff ? null : Number(input.value)).runAsync();
  input.dispatchEvent(new Event("input", { bubbles: true }));
};
for (const type of ["pointerdown", "mousedown", "touchstart"]) {
  document.addEventListener(type, (event) => {
    const chart = chartOf(event.target);
    if (!chart) return;
    const at = event.touches ? event.touches[0] : event;
    const side = floorAt(chart, at);
    const input = side && document.querySelector(`#floors input[name="${chart.floors[side]}"]`);
    if (!input) return;
    event.stopPropagation();
    if (type !== "pointerdown") { event.preventDefault(); return; }
    drag = { chart, side, input, signal: `${side}_floor` };
    document.body.classList.add(`drags-${side}`);
  }, { capture: true, passive: false });
}
document.addEventListener("pointermove", (event) => {
  if (drag) { moveFloor(event); return; }
  const chart = chartOf(event.target);
  if (chart) chart.plot.dataset.over = floorAt(chart, event) ?? "";
});
for (const type of ["pointerup", "pointercancel"]) {
  document.addEventListener(type, () => {
    if (!drag) return;
    document.body.classList.remove("drags-x", "drags-y");
    const { input } = drag;
    drag = null;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

// The buttons of a chart zoom about its middle, for those who use no wheel.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-zoom]");
  const chart = button && charts.get(button.closest("figure").querySelector(".plot").id);
  if (!chart) return;
  if (button.dataset.zoom === "reset") { draw(chart.figure); return; }
  for (const side of ["x", "y"]) {
    const scale = scaleOf(chart, side);
    const [first, last] = scale.range();
    const rim = ((last - first) * (1 - 1 / button.dataset.zoom)) / 2;
    chart.view.signal(`zoom_${side}`, [scale.invert(first + rim), scale.invert(last - rim)]);
  }
  chart.view.runAsync();
});

const start = () => {
  const script = Object.assign(document.createElement("script"), { src: VEGA });
  script.addEventListener("load", () => {
    drawAll();
    document.addEventListener("htmx:afterSettle", drawAll);
    new MutationObserver(redrawAll).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  });
  document.head.append(script);
};
// The page is drawn before the library is read.
if (document.querySelector("figure[data-chart]")) requestAnimationFrame(() => setTimeout(start));
