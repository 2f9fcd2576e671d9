// How much of the variance each component has: bars beside those of PCA, and a scree.

import { byId } from './dom';
import { drawingWidth, pairedBars } from './drawings';
import { saveSvg } from './figures';
import type { Report } from './report';
import { inWords, scree } from './scree';
import { fileStem, percent } from './text';

/** Components that get a bar of their own. */
const MOST_BARS = 12;

export function components(report: Report): void {
  const stem = fileStem(report.data.name);
  const total = (of: 'ratio' | 'pca_ratio'): number => report.components.reduce((sum, component) => sum + (component[of] ?? 0), 0);
  const beside = report.components.every((component) => component.pca_ratio !== null);
  const bars = report.components.slice(0, MOST_BARS).map((component) => ({ name: component.name, note: '', first: component.ratio, second: component.pca_ratio }));
  const all = { name: 'all', note: '', first: total('ratio'), second: total('pca_ratio') };
  const drawing = pairedBars([...bars, all], [0, Math.max(all.first, all.second, 0.01)], percent, 'Explained variance of each component', drawingWidth(byId('variance')), beside);
  byId('variance').append(drawing);
  byId('variance-note').hidden = !beside;
  byId('variance-svg').addEventListener('click', () => saveSvg(`${stem}-variance`, drawing));
  const lines = scree(report.components, report.chance, drawingWidth(byId('scree')));
  byId('scree').append(lines);
  byId('chance').textContent = report.chance ? inWords(report.chance) : '';
  byId('chance').hidden = !report.chance;
  byId('scree-svg').addEventListener('click', () => saveSvg(`${stem}-scree`, lines));
}
