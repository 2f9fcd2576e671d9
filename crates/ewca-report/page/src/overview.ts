import { byId, el } from './dom';
import { drawingWidth, pairedBars } from './drawings';
import { saveSvg } from './figures';
import type { Report } from './report';
import type { Samples } from './samples';
import { counted, fileStem, number, percent } from './text';

/** Components that get a bar of their own. */
const MOST_BARS = 12;

export function overview(report: Report, samples: Samples): void {
  const { data } = report;
  document.title = `${data.name} - EWCA report`;
  byId('name').textContent = data.name;
  const parts = [
    `${counted(data.samples, 'sample')} \u00d7 ${counted(data.features, 'feature')}`,
    ...(samples.label ? [`${counted(samples.label.names.length, 'class', 'classes')} (${samples.label.name})`] : []),
    counted(report.components.length, 'component'),
    `epsilon ${number(report.epsilon)}`,
    ...data.preprocessing,
  ];
  byId('shape').textContent = parts.join(' \u00b7 ');
  byId('warnings').append(...report.warnings.map((warning) => el('p', { class: 'banner warning', role: 'alert' }, el('strong', {}, 'Warning. '), warning)));
  const verdict = byId('verdict');
  verdict.classList.add(report.sound ? 'good' : 'warning');
  verdict.append(el('strong', {}, report.sound ? 'Sound. ' : 'Take care. '), report.verdict);
  byId('facts').append(...report.facts.flatMap((fact) => [
    el('dt', {}, fact.name),
    el('dd', {}, fact.value, el('small', {}, fact.meaning)),
  ]));
  if (report.notes.length) {
    byId('notes').append(el('h3', {}, 'What this file leaves out'), el('ul', {}, ...report.notes.map((note) => el('li', {}, note))));
  }

  const total = (of: 'ratio' | 'pca_ratio'): number => report.components.reduce((sum, component) => sum + component[of], 0);
  const bars = report.components.slice(0, MOST_BARS).map((component) => ({ name: component.name, note: '', first: component.ratio, second: component.pca_ratio }));
  const all = { name: 'all', note: '', first: total('ratio'), second: total('pca_ratio') };
  const drawing = pairedBars([...bars, all], [0, Math.max(all.first, all.second, 0.01)], percent, 'Explained variance of each component, EWCA and PCA', drawingWidth(byId('variance')));
  byId('variance').append(drawing);
  byId('variance-svg').addEventListener('click', () => saveSvg(`${fileStem(data.name)}-variance`, drawing));
}
