import { byId, isDark } from './dom';
import { savePng } from './figures';
import { HeatMapView, heatGradient } from './heatmap';
import type { Report } from './report';
import type { Samples } from './samples';
import { segments } from './segments';
import { fileStem, percent } from './text';

const ORDERS = { label: 'Class', similarity: 'Similarity' };

export interface PlanSection { restyle(): void; view: HeatMapView }

export function plan(report: Report, { label }: Samples): PlanSection {
  let map = report.heat_maps[0]!;
  const view = new HeatMapView(byId('heat'), (cell) => {
    byId('cell').textContent = cell
      ? `${map.names[cell.row]} \u2192 ${map.names[cell.column]}: ${percent(cell.share)}${map.single ? '' : ' for each pair'}`
      : '';
  });
  const show = (key: string): void => {
    map = report.heat_maps.find((candidate) => candidate.key === key) ?? map;
    view.show(map, label);
    byId('heat-middle').textContent = percent(view.top / 2);
    byId('heat-top').textContent = `\u2265 ${percent(view.top)}`;
    byId('plan-note').textContent = (map.single ? 'One row for each sample; every row sums to 100%. ' : 'Means over blocks of samples. ')
      + (map.squares.length ? 'Coloured squares are the classes. ' : '') + 'Colours follow the square root of the share, so that small shares are visible.';
  };
  segments(byId('orders'), report.heat_maps.map((candidate) => [candidate.key, ORDERS[candidate.key]]), map.key, show);
  show(map.key);
  byId('plan-in').addEventListener('click', () => view.zoom(0.6));
  byId('plan-out').addEventListener('click', () => view.zoom(1 / 0.6));
  byId('plan-reset').addEventListener('click', () => view.reset());
  byId('plan-png').addEventListener('click', () => savePng(`${fileStem(report.data.name)}-plan`, `Transport plan of ${report.data.name}`, view.canvas));
  const restyle = (): void => {
    byId('heat-scale').style.background = heatGradient(isDark());
    view.recolour();
  };
  restyle();
  return { restyle, view };
}
