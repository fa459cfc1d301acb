// Tables of numbers → charts. Whoever has no scripts has the tables.
"use strict";

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const DAY = 86400;

function written(at) {
  return new Date(at * 1000).toISOString().slice(0, 10);
}

function draw(element) {
  const table = document.getElementById(element.dataset.table);
  const rows = [...table.tBodies[0].rows];
  const times = rows.map((row) => Date.parse(row.querySelector("time").dateTime) / 1000);
  const [stretch, ...names] = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  const counts = names.map((_, column) => rows.map((row) => Number(row.cells[column + 1].dataset.value)));
  const colours = [colour("--accent"), colour("--amber")];
  const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
  // Views are counted by days, so no tick is within one.
  const days = { space: 100, incrs: [1, 2, 7, 14, 30, 60, 90, 180, 365].map((count) => count * DAY), values: (_, ticks) => ticks.map(written) };
  const bars = rows.length <= 120 ? uPlot.paths.bars({ size: [0.7, 40], align: 0 }) : uPlot.paths.linear();
  const half = rows.length > 1 ? (times[1] - times[0]) / 2 : DAY / 2; // room for the whole of the first and last bar
  element.replaceChildren();
  return new uPlot({
    width: element.clientWidth,
    height: 240,
    tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "UTC"),
    cursor: { drag: { x: false, y: false } },
    scales: { x: { time: true, range: (_, first, last) => [first - half, last + half] }, y: { range: (_, least, most) => [0, Math.max(1, most * 1.08)] } },
    axes: [{ ...axis, ...days }, { ...axis, size: 56, values: (_, ticks) => ticks.map((one) => Number.isInteger(one) ? one.toLocaleString("en") : "") }],
    series: [
      { label: stretch, value: (_, at) => at == null ? "–" : written(at) },
      ...names.map((label, number) => ({
        label,
        value: (_, count) => count == null ? "–" : count.toLocaleString("en"),
        stroke: colours[number],
        fill: number === 0 ? `${colours[number]}55` : undefined,
        width: number === 0 ? 0 : 2,
        paths: number === 0 ? bars : undefined,
        points: { show: false },
      })),
    ],
  }, [times, ...counts], element);
}

for (const element of document.querySelectorAll(".chart")) {
  let chart = draw(element);
  new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: 240 })).observe(element);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    chart.destroy();
    chart = draw(element);
  });
}
