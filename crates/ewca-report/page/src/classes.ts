import { byId } from './dom';
import { confusionMatrix, drawingWidth, pairedBars } from './drawings';
import { saveSvg } from './figures';
import type { Classes, Report } from './report';
import { segments } from './segments';
import { counted, fileStem, percent } from './text';

export function classes(report: Report): void {
  const { classes } = report;
  if (!classes) return;
  const names = classes.silhouettes.map((entry) => entry.name);
  byId('classes').hidden = false;
  const stem = fileStem(report.data.name);
  byId('classes-note').textContent = `How well do the scores separate the classes? The nearest neighbour is of another class for ${percent(classes.ewca.error)} of ${counted(classes.asked, 'sample')} with EWCA, and for ${percent(classes.pca.error)} with PCA.`;
  let matrix: SVGElement | null = null;
  const show = (key: string): void => {
    const { counts } = classes[key as keyof Pick<Classes, 'ewca' | 'pca'>];
    matrix = confusionMatrix(names, counts, `Confusion matrix by the scores of ${key === 'ewca' ? 'EWCA' : 'PCA'}`, drawingWidth(byId('confusion')));
    byId('confusion').replaceChildren(matrix);
  };
  segments(byId('confusion-of'), [['ewca', 'EWCA'], ['pca', 'PCA']], 'ewca', show);
  show('ewca');
  byId('confusion-svg').addEventListener('click', () => matrix && saveSvg(`${stem}-confusion`, matrix));

  const pairs = classes.silhouettes.map((entry) => ({ name: entry.name, note: counted(entry.samples, 'sample'), first: entry.ewca, second: entry.pca }));
  const values = pairs.flatMap((pair) => [pair.first ?? 0, pair.second ?? 0]);
  const low = Math.min(0, ...values);
  const bars = pairedBars(pairs, [low, Math.max(0.1, ...values)], (value) => value.toFixed(2), 'Silhouette of each class, EWCA and PCA', drawingWidth(byId('silhouettes')));
  byId('silhouettes').append(bars);
  byId('silhouette-svg').addEventListener('click', () => saveSvg(`${stem}-silhouettes`, bars));
}
