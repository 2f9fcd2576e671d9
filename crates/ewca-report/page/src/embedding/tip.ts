// What is said beside the pointer of the sample under it.

import { numbers } from '../arrays';
import { byId, el } from '../dom';
import type { Feature } from '../report';
import type { Samples } from '../samples';
import type { Scatter } from '../scatter/scatter';
import { number, percent } from '../text';

/** Partners that are named. */
const NAMED = 3;

/** Shows the tip of a sample at a place of the plot, or hides it. */
export function showTip(samples: Samples, scale: Feature | null, scatter: Scatter, sample: number | null, x: number, y: number): void {
  const tip = byId('tip');
  tip.hidden = sample === null;
  if (sample === null) return;
  const label = samples.labelOf(sample);
  const partners = samples.partners(sample).filter((partner) => partner.share > 0).slice(0, NAMED);
  tip.replaceChildren(
    el('strong', {}, samples.id(sample)),
    ...(label === null ? [] : [el('span', {}, label)]),
    ...(scale ? [el('span', {}, `${scale.name}: ${number(numbers(scale.column)[sample]!)}`)] : []),
    ...(partners.length ? [el('span', { class: 'quiet' }, 'matched with')] : []),
    ...partners.map((partner) => el('span', {}, `${samples.id(partner.sample)} ${samples.labelOf(partner.sample) ?? ''} ${percent(partner.share)}`)),
  );
  const { over, root } = scatter.plot;
  const flip = x > over.clientWidth / 2;
  tip.style.left = `${over.offsetLeft + root.offsetLeft + x + (flip ? -14 : 14)}px`;
  tip.style.top = `${over.offsetTop + root.offsetTop + y + 10}px`;
  tip.classList.toggle('flipped', flip);
}
