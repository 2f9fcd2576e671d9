// The view as a link: what is shown, how it is coloured and what lies over it, in the part of the address after '#'.

import { byId, isEmbedded } from '../dom';
import type { Scatter } from '../scatter/scatter';
import type { Shown } from './shown';

/** Controls whose values are all there is to know of them. */
const CONTROLS = ['x-axis', 'y-axis', 'z-axis', 'colour', 'feature', 'arrows', 'arrow-count', 'arrow-features', 'labels', 'outlines', 'figure-width', 'figure-height', 'figure-dpi'];
const DETAILS = CONTROLS.slice(5);

type Control = HTMLInputElement | HTMLSelectElement;

export class Settings {
  constructor(private readonly scatter: Scatter, private readonly shown: Shown, private readonly goTo: (step: number) => void) {
    byId('copy-settings').addEventListener('click', () => void this.copy());
    byId('copy-settings').hidden = isEmbedded();
    addEventListener('hashchange', () => this.restore());
  }

  /** Takes up the settings of the address, if it has any. */
  restore(): void {
    // Links within the page have no sign of equality.
    if (!location.hash.includes('=')) return;
    const settings = new URLSearchParams(location.hash.slice(1));
    const step = settings.get('step');
    if (step !== null && /^\d+$/.test(step)) this.goTo(Number(step));
    else this.shown.showView(settings.get('view') ?? '');
    for (const id of CONTROLS) {
      const value = settings.get(id);
      if (value !== null) assign(byId<Control>(id), value);
    }
    const [yaw, pitch] = (settings.get('turn') ?? '').split(',').map(Number);
    if (Number.isFinite(yaw) && Number.isFinite(pitch)) this.shown.turnTo(yaw!, pitch!);
    byId<HTMLDetailsElement>('more').open ||= DETAILS.some((id) => settings.has(id));
    const window = (settings.get('window') ?? '').split(',').map(Number);
    const [x0, x1, y0, y1] = window as [number, number, number, number];
    if (window.length === 4 && window.every(Number.isFinite) && x0 < x1 && y0 < y1) this.scatter.show({ x0, x1, y0, y1 });
  }

  /** The settings that differ from those at the beginning. */
  private get text(): string {
    const settings = new URLSearchParams();
    if (this.shown.at === null) settings.set('view', this.shown.view.key);
    else settings.set('step', String(this.shown.at));
    for (const id of CONTROLS) {
      const control = byId<Control>(id);
      if (!control.closest('[hidden]') && control.value !== '') settings.set(id, control.value);
    }
    if (this.shown.depth !== null) settings.set('turn', `${this.shown.turn.yaw.toFixed(3)},${this.shown.turn.pitch.toFixed(3)}`);
    const { x0, x1, y0, y1 } = this.scatter.view();
    if (this.scatter.isZoomed) settings.set('window', [x0, x1, y0, y1].map((value) => Number(value.toPrecision(6))).join(','));
    return settings.toString();
  }

  private async copy(): Promise<void> {
    history.replaceState(null, '', `#${this.text}`);
    const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    byId('settings-note').textContent = copied ? 'Copied. The address of this page now contains the settings, too.' : 'The address of this page now contains the settings: copy it from the address bar.';
  }
}

/** Gives a control a value that it can have, and tells it so. */
function assign(control: Control, value: string): void {
  if (control instanceof HTMLSelectElement && ![...control.options].some((option) => option.value === value)) return;
  control.value = value;
  control.dispatchEvent(new Event('change', { bubbles: true }));
}

