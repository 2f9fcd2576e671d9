// The embedding with all its controls: what is shown, how it is coloured, which samples are looked at.

import { numbers } from './arrays';
import { classColour, classShape, continuous, css, rgb } from './colours';
import { announce, byId, el, isDark, saveText, svg } from './dom';
import { type LegendEntry, savePng } from './figures';
import type { Column, Report } from './report';
import type { Samples } from './samples';
import { SHAPES_UP_TO, type Style, Scatter } from './scatter';
import { segments } from './segments';
import { counted, csv, fileStem, number, percent } from './text';

/** Names that are offered while typing, and samples of a selection that are listed. */
const OFFERED = 5000;
const LISTED = 200;
const PLAY_EVERY = 750;

export interface Embedding {
  scatter: Scatter;
  /** The step of the path that is shown, if one is. */
  step(): number | null;
  goTo(step: number): void;
  restyle(): void;
  changed: () => void;
}

export function embedding(report: Report, samples: Samples): Embedding {
  const stem = fileStem(report.data.name);
  const steps = report.path?.steps ?? [];
  const decoded = new Map<Column, Float64Array>();
  const values = (column: Column): Float64Array => {
    let found = decoded.get(column);
    if (!found) decoded.set(column, (found = numbers(column)));
    return found;
  };

  // What is shown: a view, or a step of the path.
  let view = report.views[0]!;
  let step: number | null = null;
  let axes: [number, number] = [0, Math.min(1, view.columns.length - 1)];
  let highlighted: Set<number> = new Set();
  let focus: number | null = null;
  let selected: number[] = [];
  const columnsShown = (): Column[] => (step === null ? view.columns : steps[step]!.columns);
  const axisNames = (): string[] => (step === null ? view.axes : report.views[0]!.axes.slice(0, steps[step]!.columns.length));

  const scatter = new Scatter(byId('scatter'), {
    hovered: (sample, x, y) => showTip(sample, x, y),
    clicked: (sample) => look(sample),
    lassoed: (chosen) => choose(chosen),
  });

  const [xAxis, yAxis] = [byId<HTMLSelectElement>('x-axis'), byId<HTMLSelectElement>('y-axis')];
  const fillAxes = (): void => {
    const names = axisNames();
    axes = axes.map((axis) => Math.min(axis, names.length - 1)) as [number, number];
    [xAxis, yAxis].forEach((select, at) => {
      select.replaceChildren(...names.map((name, axis) => el('option', { value: axis, selected: axis === axes[at] }, name)));
    });
  };
  const place = (animated = true): void => {
    fillAxes();
    const columns = columnsShown();
    const names = axisNames();
    const [x, y] = [values(columns[axes[0]]!), values(columns[axes[1]]!)];
    scatter.place(x, columns.length > 1 ? y : new Float64Array(x.length), [names[axes[0]]!, columns.length > 1 ? names[axes[1]]! : ''], animated);
    describe();
  };
  [xAxis, yAxis].forEach((select, at) => select.addEventListener('change', () => {
    axes[at] = Number(select.value);
    place();
  }));

  const views = segments(byId('views'), report.views.map((entry) => [entry.key, entry.name]), view.key, (key) => {
    stop();
    view = report.views.find((entry) => entry.key === key)!;
    step = null;
    if (key === 'ewca' && report.path) slider.value = String(report.path.current);
    place();
    self.changed();
  });
  segments(byId('tools'), [['move', 'Move'], ['lasso', 'Lasso']], 'move', (tool) => {
    scatter.tool = tool as 'move' | 'lasso';
    byId('scatter').classList.toggle('lassoing', tool === 'lasso');
  });
  byId('zoom-in').addEventListener('click', () => scatter.zoom(0.7));
  byId('zoom-out').addEventListener('click', () => scatter.zoom(1 / 0.7));
  byId('reset').addEventListener('click', () => scatter.reset());

  // Colours.
  const colour = byId<HTMLSelectElement>('colour');
  const feature = byId<HTMLInputElement>('feature');
  colour.append(
    ...(samples.classes ? [el('option', { value: 'label' }, report.data.label ?? 'class')] : []),
    el('option', { value: 'perplexity' }, 'perplexity'),
    el('option', { value: 'feature' }, 'a feature'),
    ...(samples.classes ? [] : [el('option', { value: 'none' }, 'nothing')]),
  );
  colour.value = samples.classes ? 'label' : 'perplexity';
  byId('feature-names').append(...report.features.slice(0, OFFERED).map((entry) => el('option', { value: entry.name })));
  feature.value = report.features[0]?.name ?? '';
  const scale = (): { name: string; column: Column } | null => {
    if (colour.value === 'perplexity') return { name: 'perplexity', column: report.perplexities };
    if (colour.value !== 'feature') return null;
    return report.features.find((entry) => entry.name === feature.value) ?? report.features[0] ?? null;
  };
  const dress = (): void => {
    const n = samples.count;
    const dark = isDark();
    const style: Style = { colours: new Uint8Array(3 * n), shapes: null, dimmed: null };
    const shaded = scale();
    if (shaded) {
      const { low, high } = shaded.column;
      const column = values(shaded.column);
      for (let i = 0; i < n; i++) style.colours.set(continuous(high > low ? (column[i]! - low) / (high - low) : 0.5, dark), 3 * i);
    } else if (colour.value === 'label' && samples.classes) {
      const colours = samples.classNames.map((_, at) => rgb(classColour(at, dark)));
      for (let i = 0; i < n; i++) style.colours.set(colours[samples.classes[i]!]!, 3 * i);
      if (n <= SHAPES_UP_TO) style.shapes = Array.from(samples.classes, classShape);
      if (highlighted.size) style.dimmed = Uint8Array.from(samples.classes, (at) => (highlighted.has(at) ? 0 : 1));
    } else {
      const plain = rgb(classColour(0, dark));
      for (let i = 0; i < n; i++) style.colours.set(plain, 3 * i);
    }
    scatter.dress(style);
  };
  colour.addEventListener('change', () => recolour());
  feature.addEventListener('change', () => recolour());
  const recolour = (): void => {
    byId('feature-field').hidden = colour.value !== 'feature';
    highlighted = new Set();
    dress();
    drawLegend();
  };

  const classCounts = (among: Iterable<number>): number[] => {
    const counts = samples.classNames.map(() => 0);
    if (samples.classes) for (const sample of among) counts[samples.classes[sample]!]!++;
    return counts;
  };
  const drawLegend = (): void => {
    const host = byId('legend');
    const dark = isDark();
    const shaded = scale();
    if (shaded) {
      const bar = el('div', { class: 'scale' });
      const stops = Array.from({ length: 9 }, (_, at) => css(continuous(at / 8, dark)));
      bar.style.background = `linear-gradient(to right, ${stops.join(', ')})`;
      host.replaceChildren(el('h3', {}, shaded.name), bar,
        el('div', { class: 'ends' }, el('span', {}, number(shaded.column.low)), el('span', {}, number(shaded.column.high))));
      return;
    }
    if (colour.value !== 'label') {
      host.replaceChildren();
      return;
    }
    const counts = classCounts(Array(samples.count).keys());
    const entries = samples.classNames.map((name, at) => {
      const button = el('button', { type: 'button', 'aria-pressed': highlighted.has(at), title: `Show ${name} alone` },
        swatch(at, dark, samples.count <= SHAPES_UP_TO), el('span', { class: 'grow' }, name), el('span', { class: 'quiet' }, String(counts[at])));
      button.addEventListener('click', () => {
        if (!highlighted.delete(at)) highlighted.add(at);
        button.setAttribute('aria-pressed', String(highlighted.has(at)));
        dress();
      });
      return el('li', {}, button);
    });
    host.replaceChildren(el('h3', {}, report.data.label ?? 'class'), el('ul', { class: 'legend' }, ...entries));
  };

  // One sample.
  const tip = byId('tip');
  const showTip = (sample: number | null, x: number, y: number): void => {
    tip.hidden = sample === null;
    if (sample === null) return;
    const label = samples.label(sample);
    const shaded = scale();
    const partners = samples.partners(sample).filter((partner) => partner.share > 0).slice(0, 3);
    tip.replaceChildren(
      el('strong', {}, samples.id(sample)),
      ...(label === null ? [] : [el('span', {}, label)]),
      ...(shaded ? [el('span', {}, `${shaded.name}: ${number(values(shaded.column)[sample]!)}`)] : []),
      ...(partners.length ? [el('span', { class: 'quiet' }, 'spreads to')] : []),
      ...partners.map((partner) => el('span', {}, `${samples.id(partner.sample)} ${samples.label(partner.sample) ?? ''} ${percent(partner.share)}`)),
    );
    const over = scatter.plot.over;
    const [left, top] = [over.offsetLeft + scatter.plot.root.offsetLeft, over.offsetTop + scatter.plot.root.offsetTop];
    const flip = x > over.clientWidth / 2;
    tip.style.left = `${left + x + (flip ? -14 : 14)}px`;
    tip.style.top = `${top + y + 10}px`;
    tip.classList.toggle('flipped', flip);
  };
  const look = (sample: number | null): void => {
    focus = sample;
    const partners = sample === null ? [] : samples.partners(sample).filter((partner) => partner.share > 0.0005);
    scatter.mark(sample, partners);
    const host = byId('sample');
    if (sample === null) {
      host.replaceChildren();
      return;
    }
    const label = samples.label(sample);
    const close = el('button', { type: 'button', class: 'plain', 'aria-label': 'Close' }, '\u00d7');
    close.addEventListener('click', () => look(null));
    host.replaceChildren(
      el('div', { class: 'card-head' }, el('h3', {}, samples.id(sample)), close),
      el('p', { class: 'quiet' }, [label, `spreads over ${number(samples.perplexities[sample]!)} samples`, `keeps ${percent(samples.ownShare(sample))}`].filter((part) => part !== null).join(' \u00b7 ')),
      el('ul', { class: 'partners' }, ...partners.map((partner) => {
        const bar = el('i', { class: 'bar' });
        bar.style.width = `${Math.max(2, 100 * partner.share)}%`;
        const button = el('button', { type: 'button' }, el('span', { class: 'grow' }, `${samples.id(partner.sample)} `, el('span', { class: 'quiet' }, samples.label(partner.sample) ?? '')), el('span', {}, percent(partner.share)), bar);
        button.addEventListener('click', () => look(partner.sample));
        return el('li', {}, button);
      })),
      ...(step === null ? [] : [el('p', { class: 'hint' }, `Links are those of the fit at epsilon ${number(report.epsilon)}.`)]),
    );
    announce(`${samples.id(sample)}${label === null ? '' : `, ${label}`}; strongest partner ${partners[0] ? samples.id(partners[0].sample) : 'none'}`);
  };
  const find = byId<HTMLInputElement>('find');
  if (samples.count <= OFFERED) byId('sample-names').append(...Array.from({ length: samples.count }, (_, at) => el('option', { value: samples.id(at) })));
  find.addEventListener('change', () => {
    const sample = samples.find(find.value);
    find.setCustomValidity(sample === null && find.value ? 'No sample has this name.' : '');
    find.reportValidity();
    if (sample !== null) look(sample);
  });

  // Several samples.
  const choose = (chosen: number[]): void => {
    selected = chosen;
    const marks = chosen.length ? new Uint8Array(samples.count) : null;
    chosen.forEach((sample) => (marks![sample] = 1));
    scatter.select(marks);
    const host = byId('selection');
    announce(`${counted(chosen.length, 'sample')} selected`);
    if (!chosen.length) {
      host.replaceChildren();
      return;
    }
    const download = el('button', { type: 'button', id: 'selection-csv' }, 'Download CSV');
    download.addEventListener('click', () => saveText(`${stem}-selection.csv`, 'text/csv', selectionCsv()));
    const clear = el('button', { type: 'button', id: 'selection-clear' }, 'Clear');
    clear.addEventListener('click', () => choose([]));
    const counts = classCounts(chosen);
    const kinds = samples.classNames.flatMap((name, at) => (counts[at] ? [`${name} ${counts[at]}`] : []));
    host.replaceChildren(
      el('h3', {}, `${counted(chosen.length, 'sample')} selected`),
      ...(kinds.length ? [el('p', { class: 'quiet' }, kinds.join(' \u00b7 '))] : []),
      el('div', { class: 'buttons' }, download, clear),
      el('ul', { class: 'list' }, ...chosen.slice(0, LISTED).map((sample) => {
        const button = el('button', { type: 'button' }, samples.id(sample));
        button.addEventListener('click', () => look(sample));
        return el('li', {}, button);
      })),
      ...(chosen.length > LISTED ? [el('p', { class: 'hint' }, `The first ${LISTED}; CSV has all.`)] : []),
    );
  };
  const selectionCsv = (): string => {
    const columns = columnsShown().map(values);
    const label = samples.classes !== null;
    const rows = selected.map((sample) => [samples.id(sample), ...(label ? [samples.label(sample)!] : []), ...columns.map((column) => column[sample]!)]);
    return csv(['id', ...(label ? ['label'] : []), ...axisNames()], rows);
  };

  // The path.
  const slider = byId<HTMLInputElement>('epsilon');
  const play = byId<HTMLButtonElement>('play');
  let playing = 0;
  const stop = (): void => {
    clearInterval(playing);
    playing = 0;
    play.textContent = 'Play';
  };
  const goTo = (wanted: number): void => {
    step = wanted;
    view = report.views[0]!;
    views.choose('ewca');
    slider.value = String(wanted);
    place();
    self.changed();
  };
  const describe = (): void => {
    if (!report.path) return;
    const text = byId('epsilon-text');
    const shown = step === null ? null : steps[step]!;
    const plain = view.key === 'pca' ? 'PCA: epsilon towards 0' : `this fit: epsilon ${number(report.epsilon)}`;
    text.textContent = shown === null ? plain : [
      `epsilon ${number(shown.epsilon)}`, `perplexity ${number(shown.perplexity)}`, `explained ${percent(shown.explained)}`,
      ...(shown.error === null ? [] : [`1-NN error ${percent(shown.error)}`]), ...(shown.collapsed ? ['collapsed'] : []),
      ...(shown.converged ? [] : ['not converged']),
    ].join(' \u00b7 ');
    text.classList.toggle('bad', shown?.collapsed ?? false);
    slider.setAttribute('aria-valuetext', text.textContent);
  };
  if (report.path) {
    byId('slider').hidden = false;
    slider.max = String(steps.length - 1);
    slider.value = String(report.path.current);
    slider.addEventListener('input', () => {
      stop();
      goTo(Number(slider.value));
    });
    play.addEventListener('click', () => {
      if (playing) return stop();
      const from = Number(slider.value) >= steps.length - 1 ? 0 : Number(slider.value);
      goTo(from);
      play.textContent = 'Stop';
      playing = window.setInterval(() => {
        if (Number(slider.value) >= steps.length - 1) return stop();
        goTo(Number(slider.value) + 1);
      }, PLAY_EVERY);
    });
    const first = steps.findIndex((entry) => entry.collapsed);
    if (first >= 0) {
      const shade = byId('collapsed-track');
      shade.hidden = false;
      shade.style.left = `${steps.length > 1 ? Math.max(0, (100 * (first - 0.5)) / (steps.length - 1)) : 0}%`;
    }
  }

  byId('embedding-png').addEventListener('click', () => {
    const dark = isDark();
    const shaded = scale();
    const legend: LegendEntry[] = shaded
      ? [1, 0.75, 0.5, 0.25, 0].map((part) => ({ colour: css(continuous(part, dark)), text: number(shaded.column.low + part * (shaded.column.high - shaded.column.low)) }))
      : colour.value === 'label' ? samples.classNames.slice(0, 40).map((text, at) => ({ colour: classColour(at, dark), text })) : [];
    savePng(`${stem}-embedding`, `${report.data.name}: ${step === null ? view.name : `EWCA, epsilon ${number(steps[step]!.epsilon)}`}`, scatter.plot.ctx.canvas, legend);
  });

  const self: Embedding = {
    scatter,
    step: () => step,
    goTo: (wanted) => {
      stop();
      goTo(wanted);
    },
    restyle: () => {
      dress();
      drawLegend();
      scatter.restyle();
      if (focus !== null) look(focus);
    },
    changed: () => {},
  };
  recolour();
  place(false);
  return self;
}

/** A class's colour, and its shape where points have one. */
function swatch(index: number, dark: boolean, shaped: boolean): SVGElement {
  const fill = classColour(index, dark);
  const shapes = {
    circle: svg('circle', { cx: 6, cy: 6, r: 4.6, fill }),
    square: svg('rect', { x: 2, y: 2, width: 8, height: 8, fill }),
    triangle: svg('path', { d: 'M6 0.6 L11.2 10 L0.8 10 Z', fill }),
    diamond: svg('path', { d: 'M6 0.4 L11.6 6 L6 11.6 L0.4 6 Z', fill }),
  };
  return svg('svg', { viewBox: '0 0 12 12', class: 'swatch', 'aria-hidden': 'true' }, shapes[shaped ? classShape(index) : 'circle']);
}
