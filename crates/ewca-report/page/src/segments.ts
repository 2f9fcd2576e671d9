// A row of radio buttons that looks like one control.

import { el } from './dom';

export interface Segments { choose(key: string): void }

let groups = 0;

export function segments(host: HTMLElement, options: [string, string][], chosen: string, changed: (key: string) => void): Segments {
  const name = `segments-${groups++}`;
  const inputs = options.map(([key, text]) => {
    const input = el('input', { type: 'radio', name, value: key, checked: key === chosen });
    input.addEventListener('change', () => changed(key));
    host.append(el('label', {}, input, el('span', {}, text)));
    return input;
  });
  return { choose: (key) => inputs.forEach((input) => (input.checked = input.value === key)) };
}
