import { floats } from './arrays';
import { byId, el, saveText } from './dom';
import { drawingWidth, signedBars } from './drawings';
import { saveSvg } from './figures';
import type { Report } from './report';
import { count, counted, csv, fileStem, number } from './text';

/** Features of each sign that get a bar, and rows of the table that are shown. */
const BARS = 10;
const ROWS = 100;

/** The positions of the largest positive values and of the most negative ones, each strongest first. */
export function extremes(values: ArrayLike<number>, most: number): { positive: number[]; negative: number[] } {
  const order = Array.from({ length: values.length }, (_, at) => at).sort((i, j) => values[j]! - values[i]! || i - j);
  return {
    positive: order.filter((at) => values[at]! > 0).slice(0, most),
    negative: order.filter((at) => values[at]! < 0).reverse().slice(0, most),
  };
}

export function loadings(report: Report): void {
  const { features } = report.loadings;
  const columns = report.loadings.columns.map(floats);
  const names = report.components.map((component) => component.name);
  const stem = fileStem(report.data.name);

  const component = byId<HTMLSelectElement>('component');
  component.append(...names.map((name, at) => el('option', { value: at }, name)));
  let drawing: SVGElement | null = null;
  const drawBars = (): void => {
    const at = Number(component.value);
    const { positive, negative } = extremes(columns[at]!, BARS);
    const bars = [...positive, ...negative.reverse()].map((feature) => ({ name: features[feature]!, value: columns[at]![feature]! }));
    drawing = signedBars(bars, `Largest loadings of ${names[at]}`, drawingWidth(byId('bars')));
    byId('bars').replaceChildren(drawing);
  };
  component.addEventListener('change', drawBars);
  drawBars();
  byId('loadings-svg').addEventListener('click', () => drawing && saveSvg(`${stem}-loadings-${names[Number(component.value)]}`, drawing));

  // Sorted by the size of a column, or by name, in either direction.
  let sort = { column: 0, falling: true };
  const search = byId<HTMLInputElement>('search');
  const found = (): number[] => {
    const wanted = search.value.trim().toLowerCase();
    const rows = features.flatMap((name, at) => (name.toLowerCase().includes(wanted) ? [at] : []));
    const direction = sort.falling ? -1 : 1;
    if (sort.column < 0) return rows.sort((i, j) => direction * (features[i]! < features[j]! ? -1 : features[i]! > features[j]! ? 1 : 0));
    const values = columns[sort.column]!;
    return rows.sort((i, j) => direction * (Math.abs(values[i]!) - Math.abs(values[j]!)) || i - j);
  };
  const table = byId<HTMLTableElement>('loadings-table');
  const head = el('tr');
  const heads = ['feature', ...names].map((name, at) => {
    const cell = el('th', { scope: 'col' });
    const button = el('button', { type: 'button' }, name);
    button.addEventListener('click', () => {
      const column = at - 1;
      sort = { column, falling: sort.column === column ? !sort.falling : column >= 0 };
      drawTable();
    });
    cell.append(button);
    head.append(cell);
    return cell;
  });
  const body = el('tbody');
  table.append(el('thead', {}, head), body);
  const drawTable = (): void => {
    const rows = found();
    heads.forEach((cell, at) => cell.setAttribute('aria-sort', at - 1 !== sort.column ? 'none' : sort.falling ? 'descending' : 'ascending'));
    body.replaceChildren(...rows.slice(0, ROWS).map((row) =>
      el('tr', {}, el('th', { scope: 'row' }, features[row]!), ...columns.map((values) => el('td', {}, number(values[row]!))))));
    byId('loadings-count').textContent = rows.length > ROWS
      ? `The first ${ROWS} of ${counted(rows.length, 'feature')}, by size. The CSV has all of them.`
      : `${count(rows.length)} of ${counted(features.length, 'feature')}.`;
  };
  search.addEventListener('input', drawTable);
  drawTable();
  byId('loadings-csv').addEventListener('click', () => {
    const rows = found().map((row) => [features[row]!, ...columns.map((values) => values[row]!)]);
    saveText(`${stem}-loadings.csv`, 'text/csv', csv(['feature', ...names], rows));
  });
}
