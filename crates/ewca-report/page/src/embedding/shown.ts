// What is shown: one of the views, or a step of the path, by two of its axes.

import { numbers } from '../arrays';
import { byId, el } from '../dom';
import type { Point } from '../geometry';
import type { Column, Report, Step, View } from '../report';
import type { Scatter } from '../scatter/scatter';
import { type Segments, segments } from '../segments';
import { number } from '../text';
import { START, Turn, reach, windowOf } from './turn';

export class Shown {
  view: View;
  /** The number of the step that is shown, if one is. */
  at: number | null = null;
  private axes: [number, number];
  /** The view and the axes that are on the screen. */
  private placed = '';
  private readonly selects = [byId<HTMLSelectElement>('x-axis'), byId<HTMLSelectElement>('y-axis')];
  private readonly third = byId<HTMLSelectElement>('z-axis');
  readonly turn = new Turn();
  private readonly views: Segments;

  constructor(private readonly report: Report, private readonly scatter: Scatter, private readonly changed: () => void) {
    this.view = report.views[0]!;
    this.axes = [0, Math.min(1, this.view.columns.length - 1)];
    this.views = segments(byId('views'), report.views.map((view) => [view.key, view.name]), this.view.key, (key) => {
      this.showView(key);
    });
    this.third.addEventListener('change', () => {
      this.place(false);
      this.changed();
    });
    this.selects.forEach((select, which) => select.addEventListener('change', () => {
      this.axes[which] = Number(select.value);
      this.place();
      this.changed();
    }));
  }

  /** The step of the path that is shown, if one is. */
  get step(): Step | null {
    return this.at === null ? null : this.report.path!.steps[this.at]!;
  }

  get columns(): Column[] {
    return (this.step ?? this.view).columns;
  }

  get axisNames(): string[] {
    return this.view.axes.slice(0, this.columns.length);
  }

  get chosenAxes(): [number, number] {
    return this.axes;
  }

  /** Shows two axes of what is shown. */
  choose(across: number, up: number): void {
    this.axes = [across, up];
    this.place();
    this.changed();
  }

  get axisTitles(): [string, string] {
    if (this.depth !== null) return ['', ''];
    const [across, up] = this.axes;
    return [this.axisTitle(across), this.columns.length === 1 ? '' : this.axisTitle(up)];
  }

  /** `ewca1 (15.3% of variance)`. */
  private axisTitle(axis: number): string {
    const ratio = (this.step ?? this.view).ratios[axis];
    return this.axisNames[axis]! + (ratio === undefined ? '' : ` (${(100 * ratio).toFixed(1)}% of variance)`);
  }

  get title(): string {
    return this.step ? `EWCA, epsilon ${number(this.step.epsilon)}` : this.view.name;
  }

  /** Shows the view with this key, if there is one. */
  showView(key: string): void {
    const view = this.report.views.find((candidate) => candidate.key === key);
    if (!view) return;
    this.views.choose(key);
    this.show(view, null);
  }

  /** Shows a step of the path, which is one of EWCA's fits. */
  goTo(at: number): void {
    this.views.choose('ewca');
    this.show(this.report.views[0]!, at);
  }

  place(animated = true): void {
    const { columns, axisNames } = this;
    this.axes = this.axes.map((axis) => Math.min(axis, axisNames.length - 1)) as [number, number];
    this.fillAxes();
    if (this.depth !== null) {
      this.placeTurned(animated);
      return;
    }
    const [across, up] = this.axes;
    const single = columns.length === 1;
    const x = numbers(columns[across]!);
    const y = single ? new Float64Array(x.length) : numbers(columns[up]!);
    const place = `${this.view.key} ${this.axes}`;
    // A step of the path is the same picture: whoever has zoomed in stays there.
    this.scatter.place({ x, y }, this.axisTitles, animated, place === this.placed);
    this.placed = place;
  }

  /** The third axis, if the cloud is seen in three dimensions. */
  get depth(): number | null {
    const axis = Number(this.third.value);
    return this.third.value === '' || this.columns.length < 3 ? null : Math.min(axis, this.columns.length - 1);
  }

  /** The pointer was dragged by so many pixels: a cloud in three dimensions turns. */
  turned(dx: number, dy: number): boolean {
    if (this.depth === null) return false;
    this.turn.drag(dx, dy);
    this.place(false);
    this.changed();
    return true;
  }

  turnBack(): void {
    if (this.depth !== null) this.turnTo(START.yaw, START.pitch);
  }

  turnTo(yaw: number, pitch: number): void {
    Object.assign(this.turn, { yaw, pitch });
    this.place(false);
    this.changed();
  }

  /** The names of three axes, and where their ends are on the screen. */
  get frame(): { text: string; to: Point }[] {
    if (this.depth === null) return [];
    const half = 0.5 * reach(...this.space);
    const ends: [number, number, number][] = [[half, 0, 0], [0, half, 0], [0, 0, half]];
    return ends.map((end, at) => ({ text: this.axisNames[[...this.axes, this.depth!][at]!]!, to: this.turn.place(...end) }));
  }

  private get space(): [Float64Array, Float64Array, Float64Array] {
    const [across, up] = this.axes;
    return [numbers(this.columns[across]!), numbers(this.columns[up]!), numbers(this.columns[this.depth!]!)];
  }

  private placeTurned(animated: boolean): void {
    const place = `${this.view.key} ${this.axes} ${this.depth}`;
    this.scatter.place(this.turn.shadow(...this.space), ['', ''], animated, place === this.placed, windowOf(reach(...this.space)));
    this.placed = place;
  }

  private show(view: View, at: number | null): void {
    [this.view, this.at] = [view, at];
    this.place();
    this.changed();
  }

  private fillAxes(): void {
    const chosen = this.third.value;
    byId('z-axis-field').hidden = this.columns.length < 3;
    this.third.replaceChildren(el('option', { value: '' }, 'none'), ...this.axisNames.map((name, axis) => el('option', { value: axis, selected: String(axis) === chosen }, name)));
    this.selects.forEach((select, which) => {
      select.replaceChildren(...this.axisNames.map((name, axis) => el('option', { value: axis, selected: axis === this.axes[which] }, name)));
    });
  }
}
