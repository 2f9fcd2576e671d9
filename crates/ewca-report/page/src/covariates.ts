// Which annotation goes with which component, strongest first.

import { byId, el, saveText } from './dom';
import type { Covariate, Report } from './report';
import { counted, csv, fileStem, probability } from './text';

const HEADS = ['component', 'annotation', 'measure', 'effect size', 'p (corrected)'];
/** The columns that are no numbers. */
const WORDS = [0, 1, 2];
/** An effect that is this rare by chance is marked. */
const RARE = 0.05;

export function covariates(report: Report): void {
  const rows = [...report.covariates].sort((a, b) => a.p - b.p || Math.abs(b.effect) - Math.abs(a.effect));
  if (!rows.length) return;
  byId('covariates').hidden = false;
  const clear = rows.filter((row) => row.p < RARE);
  byId('covariates-head').textContent = clear.length
    ? `${clear.length} of ${counted(rows.length, 'association')} ${clear.length === 1 ? 'is' : 'are'} significant (p < ${RARE})`
    : `None of ${counted(rows.length, 'association')} is significant (p < ${RARE})`;
  byId('covariates-table').append(
    el('thead', {}, el('tr', {}, ...HEADS.map((head, at) => el('th', { scope: 'col', class: WORDS.includes(at) ? 'words' : '' }, el('span', {}, head))))),
    el('tbody', {}, ...rows.map((row) => el('tr', { class: row.p < RARE ? 'clear' : '' },
      el('th', { scope: 'row' }, row.component), ...cells(row).map((cell, at) => el('td', { class: WORDS.includes(at + 1) ? 'words' : '' }, cell))))));
  byId('covariates-csv').addEventListener('click', () => {
    saveText(`${fileStem(report.data.name)}-covariates.csv`, 'text/csv', csv(HEADS, rows.map((row) => [row.component, row.column, row.effect_name, row.effect, row.p])));
  });
}

const cells = (row: Covariate): string[] => [row.column, row.effect_name, row.effect.toFixed(2), probability(row.p)];
