// Line charts, by uPlot.

import uPlot from 'uplot';
import { AXIS } from './axis';
import { FONT, styleColour } from './dom';
import { tick } from './text';

export interface Chart {
  title: string;
  x: number[];
  y: (number | null)[];
  xLabel: string;
  /** Whether the scale is logarithmic. */
  logX?: boolean;
  logY?: boolean;
  show?: (value: number) => string;
  /** From here on the chart is shaded. */
  shadedFrom?: number | null;
  /** The point that is marked. */
  current?: () => number | null;
  /** Called with the point that was clicked. */
  chosen?: (at: number) => void;
}

const HEIGHT = 190;

export function lineChart(host: HTMLElement, chart: Chart): uPlot {
  const show = chart.show ?? tick;
  const positive = (value: number | null): number | null => (value !== null && value > 0 ? value : null);
  const y = chart.logY ? chart.y.map(positive) : chart.y;
  const [low, high] = [Math.min(...chart.x), Math.max(...chart.x)];
  const ratio = chart.x.length > 1 ? (high / low) ** (0.5 / (chart.x.length - 1)) : 2;
  const margin = (high - low) * 0.03 || 1;
  const range: [number, number] = chart.logX ? [low / ratio, high * ratio] : [low - margin, high + margin];
  // Of a logarithmic scale's many lines, those at powers of ten.
  const decades = { filter: (_: uPlot, splits: number[]) => splits.map((split) => (isPower(split) ? split : null)) };
  const log = { ...AXIS, grid: { ...AXIS.grid, ...decades }, ticks: { ...AXIS.ticks, ...decades } };
  const plot = new uPlot({
    width: Math.max(160, host.clientWidth),
    height: HEIGHT,
    padding: [8, 14, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: {
      x: { time: false, range, ...(chart.logX ? { distr: 3 as const } : {}) },
      y: chart.logY ? { distr: 3 } : { range: (_, min, max) => spread(min, max) },
    },
    axes: [
      { ...(chart.logX ? log : AXIS), size: 32, label: chart.xLabel, labelSize: 18, labelFont: FONT, ...(chart.logX ? { values: (_: uPlot, splits: number[]) => logTicks(splits, range) } : {}) },
      { ...(chart.logY ? log : AXIS), size: 52, values: (_, splits) => splits.map((split) => (split === null ? null : chart.logY ? powerTick(split) : show(split))) as string[] },
    ],
    series: [{}, { stroke: () => styleColour('accent'), width: 2, points: { show: chart.x.length <= 60, size: 6, fill: () => styleColour('accent') } }],
    hooks: {
      drawClear: [(u) => shade(u, chart.shadedFrom ?? null)],
      draw: [(u) => markCurrent(u, chart)],
    },
  }, [chart.x, y] as uPlot.AlignedData, host);
  new ResizeObserver(() => {
    const width = Math.max(160, host.clientWidth);
    if (width !== plot.width) plot.setSize({ width, height: HEIGHT });
  }).observe(host);
  const { chosen } = chart;
  if (chosen) {
    plot.over.classList.add('pointer');
    plot.over.addEventListener('click', (event) => {
      const place = event.clientX - plot.over.getBoundingClientRect().left;
      let best = 0;
      const distance = (at: number): number => Math.abs(plot.valToPos(chart.x[at]!, 'x') - place);
      for (let at = 1; at < chart.x.length; at++) if (distance(at) < distance(best)) best = at;
      chosen(best);
    });
  }
  return plot;
}

/** A range with room above and below, also for a constant. */
function spread(min: number | null, max: number | null): [number, number] {
  if (min === null || max === null) return [0, 1];
  const margin = 0.08 * (max - min) || Math.abs(max) * 0.05 || 1;
  return [min - margin, max + margin];
}

/** Powers of ten, and 2 and 5 times them where there is room. */
function logTicks(splits: number[], [low, high]: [number, number]): (string | null)[] {
  const decades = Math.log10(high / low);
  return splits.map((split) => {
    const power = Math.floor(Math.log10(split) + 1e-9);
    const digit = Math.round(split / 10 ** power);
    const wanted = decades > 4 ? [1] : decades > 1.2 ? [1, 3] : [1, 2, 3, 5, 7];
    return wanted.includes(digit) ? tick(split) : null;
  });
}

function isPower(split: number): boolean {
  const power = Math.log10(split);
  return Math.abs(power - Math.round(power)) < 1e-9;
}

function powerTick(split: number): string | null {
  return isPower(split) ? `1e${Math.round(Math.log10(split))}` : null;
}

function shade(u: uPlot, from: number | null): void {
  if (from === null) return;
  const { ctx, bbox } = u;
  const left = Math.max(bbox.left, u.valToPos(from, 'x', true));
  const right = bbox.left + bbox.width;
  if (left >= right) return;
  ctx.save();
  ctx.fillStyle = styleColour('shade');
  ctx.fillRect(left, bbox.top, right - left, bbox.height);
  ctx.restore();
}

function markCurrent(u: uPlot, chart: Chart): void {
  const at = chart.current?.() ?? null;
  if (at === null) return;
  const { ctx, bbox } = u;
  const scale = devicePixelRatio || 1;
  const x = u.valToPos(chart.x[at]!, 'x', true);
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = styleColour('mark');
  ctx.lineWidth = 1.5 * scale;
  ctx.setLineDash([4 * scale, 3 * scale]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  const value = chart.y[at];
  if (value !== null && value !== undefined) {
    ctx.setLineDash([]);
    ctx.beginPath();
    ctx.arc(x, u.valToPos(value, 'y', true), 5 * scale, 0, 2 * Math.PI);
    ctx.fill();
  }
  ctx.restore();
}
