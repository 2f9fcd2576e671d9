// The slider that steps through the path's epsilons, by hand or by itself.

import { byId } from '../dom';
import type { Path, Report, Step } from '../report';
import { number, percent } from '../text';
import type { Shown } from './shown';

/** The time between two steps, in milliseconds. */
const PLAY_EVERY = 750;

export class PathSlider {
  private readonly slider = byId<HTMLInputElement>('epsilon');
  private readonly play = byId<HTMLButtonElement>('play');
  private playing = 0;

  constructor(private readonly path: Path, private readonly report: Report, private readonly shown: Shown) {
    byId('slider').hidden = false;
    this.slider.max = String(this.last);
    this.slider.addEventListener('input', () => this.goTo(this.at));
    this.play.addEventListener('click', () => (this.playing ? this.stop() : this.start()));
    shadeCollapsed(path.steps);
    this.follow();
  }

  /** Shows a step, and stays there. */
  goTo(step: number): void {
    this.stop();
    this.shown.goTo(Math.min(this.last, step));
  }

  /** What is shown has changed. */
  follow(): void {
    const { at, view } = this.shown;
    if (at === null) this.stop();
    if (at !== null || view.key === 'ewca') this.slider.value = String(at ?? this.path.current);
    const text = byId('epsilon-text');
    text.textContent = this.description();
    text.classList.toggle('bad', this.shown.step?.collapsed ?? false);
    this.slider.setAttribute('aria-valuetext', text.textContent);
  }

  private get last(): number {
    return this.path.steps.length - 1;
  }

  private get at(): number {
    return Number(this.slider.value);
  }

  private start(): void {
    this.shown.goTo(this.at >= this.last ? 0 : this.at);
    this.play.textContent = 'Stop';
    this.playing = window.setInterval(() => {
      if (this.at >= this.last) this.stop();
      else this.shown.goTo(this.at + 1);
    }, PLAY_EVERY);
  }

  private stop(): void {
    clearInterval(this.playing);
    this.playing = 0;
    this.play.textContent = 'Play';
  }

  private description(): string {
    const { step, view } = this.shown;
    if (step) return stepInWords(step);
    return view.key === 'pca' ? 'PCA: epsilon towards 0' : `this fit: epsilon ${number(this.report.epsilon)}`;
  }
}

function stepInWords(step: Step): string {
  return [
    `epsilon ${number(step.epsilon)}`,
    `perplexity ${number(step.perplexity)}`,
    `explained variance ${percent(step.explained)}`,
    ...(step.error === null ? [] : [`neighbour error ${percent(step.error)}`]),
    ...(step.collapsed ? ['collapsed'] : []),
    ...(step.converged ? [] : ['not converged']),
  ].join(' \u00b7 ');
}

/** Shades the slider from halfway before the first step that has collapsed. */
function shadeCollapsed(steps: Step[]): void {
  const first = steps.findIndex((step) => step.collapsed);
  if (first < 0) return;
  const shade = byId('collapsed-track');
  shade.hidden = false;
  shade.style.left = `${steps.length > 1 ? Math.max(0, (100 * (first - 0.5)) / (steps.length - 1)) : 0}%`;
}
