import { byId } from './dom';
import { confusionMatrix, drawingWidth, pairedBars } from './drawings';
import { saveSvg } from './figures';
import type { Report } from './report';
import { segments } from './segments';
import { counted, fileStem, percent } from './text';

export function classes(report: Report): void {
  const { classes } = report;
  if (!classes) return;
  const names = classes.silhouettes.map((entry) => entry.name);
  byId('classes').hidden = false;
  const stem = fileStem(report.data.name);
  byId('classes-note').textContent = `How well do the scores separate the classes? The nearest neighbour has another class for ${percent(classes.ewca.error)} of ${counted(classes.asked, 'sample')} with EWCA${classes.pca ? `, and for ${percent(classes.pca.error)} with PCA` : ''}.`;
  let matrix: SVGElement | null = null;
  const show = (key: string): void => {
    const { counts } = (key === 'pca' && classes.pca) || classes.ewca;
    matrix = confusionMatrix(names, counts, `Confusion matrix for ${key === 'ewca' ? 'EWCA' : 'PCA'}`, drawingWidth(byId('confusion')));
    byId('confusion').replaceChildren(matrix);
  };
  if (classes.pca) segments(byId('confusion-of'), [['ewca', 'EWCA'], ['pca', 'PCA']], 'ewca', show);
  byId('confusion-of').hidden = !classes.pca;
  show('ewca');
  byId('confusion-svg').addEventListener('click', () => matrix && saveSvg(`${stem}-confusion`, matrix));

  const pairs = classes.silhouettes.map((entry) => ({ name: entry.name, note: counted(entry.samples, 'sample'), first: entry.ewca, second: entry.pca }));
  const values = pairs.flatMap((pair) => [pair.first ?? 0, pair.second ?? 0]);
  const low = Math.min(0, ...values);
  const bars = pairedBars(pairs, [low, Math.max(0.1, ...values)], (value) => value.toFixed(2), 'Silhouette of each class', drawingWidth(byId('silhouettes')), classes.pca !== null);
  byId('silhouettes').append(bars);
  byId('silhouette-svg').addEventListener('click', () => saveSvg(`${stem}-silhouettes`, bars));
}
