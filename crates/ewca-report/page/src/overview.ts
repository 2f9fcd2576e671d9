import { byId, el } from './dom';
import type { Report } from './report';
import type { Samples } from './samples';
import { counted, number } from './text';

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
  verdict.append(el('strong', {}, report.sound ? 'Fit OK. ' : 'Caution. '), report.verdict);
  byId('facts').append(...report.facts.flatMap((fact) => [
    el('dt', {}, fact.name),
    el('dd', {}, fact.value, el('small', {}, fact.meaning)),
  ]));
  if (report.notes.length) {
    byId('notes').append(el('h3', {}, 'What this file leaves out'), el('ul', {}, ...report.notes.map((note) => el('li', {}, note))));
  }
}
