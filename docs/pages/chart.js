// A chart of curves over time, as SVG that fills its place.
"use strict";

const MARGIN = { left: 52, right: 12, top: 24, bottom: 22 };

class TimeChart {
  // `label` is what the curves are, with their unit.
  constructor(place, label, className = "") {
    this.element = svg("svg", { class: `chart ${className}`, role: "img", "aria-label": label });
    this.label = label;
    this.curves = [];
    this.until = 1;
    place.append(this.element);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  // Curves are { name, time, values, colour, dashed, dots, held }; a held value stays until the next one.
  show(curves, until) {
    this.curves = curves;
    this.until = until;
    this.draw();
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (width === 0 || height === 0) return;
    const values = this.curves.flatMap(({ values: each }) => each);
    const [low, high] = boundsOf(values);
    const x = time => MARGIN.left + time / this.until * (width - MARGIN.left - MARGIN.right);
    const y = value => height - MARGIN.bottom - (value - low) / (high - low) * (height - MARGIN.top - MARGIN.bottom);
    const children = [];
    for (const tick of ticks(low, high, Math.max(2, height / 60))) {
      children.push(svg("line", { class: "grid", x1: x(0), x2: x(this.until), y1: y(tick), y2: y(tick) }));
      children.push(svg("text", { x: MARGIN.left - 6, y: y(tick) + 4, "text-anchor": "end" }, shortNumber(tick)));
    }
    for (const tick of ticks(0, this.until, width / 110)) {
      children.push(svg("text", { x: x(tick), y: height - 6, "text-anchor": "middle" }, shortNumber(tick)));
    }
    children.push(svg("text", { x: MARGIN.left + 4, y: 14 }, this.label));
    for (const { time, values: heights, colour, dashed, dots, held } of this.curves) {
      const points = time.map((each, k) => [x(each), y(heights[k])]);
      if (dots) {
        children.push(...points.map(([cx, cy]) => svg("circle", { cx, cy, r: 4, style: `fill: ${colour}` })));
        continue;
      }
      const steps = held ? points.flatMap((point, k) => (k > 0 ? [[point[0], points[k - 1][1]], point] : [point])) : points;
      const path = steps.map(point => point.map(each => each.toFixed(1)).join(" ")).join(" ");
      children.push(svg("polyline", { class: `curve ${dashed ? "dashed" : ""}`, points: path, style: `stroke: ${colour}` }));
    }
    this.element.replaceChildren(...children);
  }
}

function boundsOf(values) {
  const low = values.reduce((least, each) => Math.min(least, each), 0);
  const high = values.reduce((most, each) => Math.max(most, each), low === 0 ? 0 : low);
  const space = 0.06 * (high - low) || 1;
  return [low - space, high + space];
}

function ticks(low, high, count) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find(each => each * power >= raw);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k += 1) found.push(k * step);
  return found;
}

const shortNumber = value => String(Number(value.toPrecision(6)));
