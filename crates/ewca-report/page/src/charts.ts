// Cards with a line chart each: the path, and the course of the fit.

import type uPlot from 'uplot';
import { byId, el } from './dom';
import { savePng } from './figures';
import { type Chart, lineChart } from './lines';
import type { Report } from './report';
import { fileStem, tick } from './text';

const percentTick = (part: number): string => `${tick(100 * part)}%`;

function card(host: HTMLElement, chart: Chart, name: string): uPlot {
  const stage = el('div', { class: 'line' });
  const keep = el('button', { type: 'button', class: 'save', 'aria-label': `${chart.title} as PNG` }, 'PNG');
  host.append(el('div', { class: 'card chart' }, el('div', { class: 'card-head' }, el('h3', {}, chart.title), keep), stage));
  const plot = lineChart(stage, chart);
  keep.addEventListener('click', () => savePng(name, chart.title, plot.ctx.canvas));
  return plot;
}

/** Where the path begins to collapse: between the last fit that has not and the first that has. */
export function collapseFrom(steps: { epsilon: number; collapsed: boolean }[]): number | null {
  const first = steps.findIndex((step) => step.collapsed);
  if (first < 0) return null;
  return first === 0 ? steps[0]!.epsilon : Math.sqrt(steps[first - 1]!.epsilon * steps[first]!.epsilon);
}

export function pathCharts(report: Report, current: () => number | null, chosen: (at: number) => void): uPlot[] {
  const { path } = report;
  if (!path) return [];
  byId('path').hidden = false;
  const host = byId('path-charts');
  const stem = fileStem(report.data.name);
  const { steps } = path;
  const shadedFrom = collapseFrom(steps);
  byId('collapse-note').textContent = shadedFrom === null
    ? 'None of these fits has collapsed.'
    : 'In the shaded part the fit has collapsed: smoothing is too strong, and the components no longer reflect the data.';
  const hasErrors = steps.some((step) => step.error !== null);
  byId('error-note').textContent = hasErrors ? 'The neighbour error is the share of samples whose nearest neighbour has another class.' : '';
  const common = { x: steps.map((step) => step.epsilon), xLabel: 'epsilon', logX: true, shadedFrom, current, chosen };
  const plots = [
    card(host, { ...common, title: 'Loss', y: steps.map((step) => step.loss) }, `${stem}-path-loss`),
    card(host, { ...common, title: 'Perplexity', y: steps.map((step) => step.perplexity) }, `${stem}-path-perplexity`),
    card(host, { ...common, title: 'Explained variance', y: steps.map((step) => step.explained), show: percentTick }, `${stem}-path-explained`),
  ];
  if (hasErrors) {
    plots.push(card(host, { ...common, title: 'Neighbour error', y: steps.map((step) => step.error), show: percentTick }, `${stem}-path-error`));
  }
  return plots;
}

export function convergence(report: Report): uPlot[] {
  const { passes, loss, gradient, marginal, sought } = report.convergence;
  const host = byId('convergence-charts');
  const stem = fileStem(report.data.name);
  byId('convergence-note').textContent = 'How the fit converged, against the work done (kernel passes).'
    + (sought ? ' Epsilon changed during the search for the requested perplexity, so the loss may rise.' : '');
  if (!passes.length) return [];
  const common = { x: passes, xLabel: 'kernel passes' };
  return [
    card(host, { ...common, title: 'Loss', y: loss }, `${stem}-loss`),
    card(host, { ...common, title: 'Relative gradient', y: gradient, logY: true }, `${stem}-gradient`),
    card(host, { ...common, title: 'Error in the plan\'s row and column sums', y: marginal, logY: true }, `${stem}-marginal`),
  ];
}
