// The embedding with all its controls: what is shown, how it is coloured, which samples are looked at.

import { byId } from '../dom';
import type { Report } from '../report';
import type { Samples } from '../samples';
import { Scatter } from '../scatter/scatter';
import { segments } from '../segments';
import { Pairs } from '../pairs';
import { fileStem } from '../text';
import { Colouring } from './colouring';
import { Export } from './export';
import { Focus } from './focus';
import { PathSlider } from './path';
import { Overlays } from './overlays';
import { Selection } from './selection';
import { Settings } from './settings';
import { Shown } from './shown';
import { showTip } from './tip';

export class Embedding {
  readonly scatter: Scatter;
  /** Called when another view or step is shown. */
  changed: () => void = () => {};
  private readonly shown: Shown;
  private readonly colouring: Colouring;
  private readonly focus: Focus;
  private readonly path: PathSlider | null;
  private readonly overlays: Overlays;
  private readonly pairs: Pairs;

  constructor(report: Report, samples: Samples) {
    const stem = fileStem(report.data.name);
    this.scatter = new Scatter(byId('scatter'), {
      hovered: (sample, x, y) => showTip(samples, this.colouring.scale, this.scatter, sample, x, y),
      turned: (dx, dy) => this.shown.turned(dx, dy),
      reset: () => this.reset(),
      clicked: (sample) => this.focus.look(sample),
      lassoed: (chosen) => selection.choose(chosen),
    });
    this.shown = new Shown(report, this.scatter, () => {
      this.path?.follow();
      this.overlays.draw();
      this.changed();
    });
    this.colouring = new Colouring(report, samples, this.scatter);
    this.focus = new Focus(report, samples, this.scatter, this.shown);
    const selection = new Selection(stem, samples, this.scatter, this.shown, (sample) => this.focus.look(sample));
    this.path = report.path && new PathSlider(report.path, report, this.shown);
    this.addTools();
    this.pairs = new Pairs(report, (across, up) => this.showPair(across, up));
    this.overlays = new Overlays(report, samples, this.scatter, this.shown, this.colouring, selection);
    selection.changed = this.focus.changed = () => this.overlays.draw();
    this.colouring.recoloured = (style) => {
      this.pairs.draw(style);
      this.overlays.draw();
    };
    new Export(stem, report.data.name, this.scatter, this.shown, this.colouring, this.overlays);
    this.shown.place(false);
    new Settings(this.scatter, this.shown, (step) => this.goTo(step)).restore();
  }

  /** The number of the path's step that is shown, if one is. */
  step(): number | null {
    return this.shown.at;
  }

  /** What the axes say. */
  titles(): [string, string] {
    return this.shown.axisTitles;
  }

  goTo(step: number): void {
    this.path?.goTo(step);
  }

  restyle(): void {
    this.colouring.restyle();
    this.scatter.restyle();
    this.focus.restyle();
  }

  /** Shows two components of the fit. */
  private showPair(across: number, up: number): void {
    this.shown.showView('ewca');
    this.shown.choose(across, up);
    byId('embedding').scrollIntoView();
  }

  /** All of the cloud again, as it was turned at first. */
  private reset(): void {
    this.shown.turnBack();
    this.scatter.reset();
  }

  private addTools(): void {
    segments(byId('tools'), [['move', 'Move'], ['lasso', 'Lasso']], 'move', (tool) => {
      this.scatter.tool = tool as 'move' | 'lasso';
      byId('scatter').classList.toggle('lassoing', tool === 'lasso');
    });
    byId('zoom-in').addEventListener('click', () => this.scatter.zoom(0.7));
    byId('zoom-out').addEventListener('click', () => this.scatter.zoom(1 / 0.7));
    byId('reset').addEventListener('click', () => this.reset());
  }
}
