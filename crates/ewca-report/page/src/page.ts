// The report's page: reads the data that the file holds, and fills the template.

import { convergence, pathCharts } from './charts';
import { classes } from './classes';
import { components } from './components';
import { covariates } from './covariates';
import { byId, el, isDark, isEmbedded } from './dom';
import { Embedding } from './embedding/embedding';
import { loadings } from './loadings';
import { overview } from './overview';
import { type PlanSection, plan } from './plan';
import type { Report } from './report';
import { Samples } from './samples';

/** The licences of what is bundled; the build puts them here. */
declare const LICENCES: string;

declare global {
  interface Window {
    /** For tests and for the curious. */
    ewcaReport: { report: Report; embedding: Embedding; plan: PlanSection };
  }
}

const report = JSON.parse(byId('report').textContent!) as Report;
const samples = new Samples(report);
overview(report, samples);
const embedding = new Embedding(report, samples);
const paths = pathCharts(report, () => embedding.step() ?? report.path?.current ?? null, (step) => embedding.goTo(step));
embedding.changed = () => paths.forEach((plot) => plot.redraw(false, false));
const planSection = plan(report, samples);
components(report);
loadings(report);
classes(report);
covariates(report);
const courses = convergence(report);
byId('version').textContent = `Made by ewca ${report.version}.`;
byId('licences').textContent = `This page bundles:\n\n${LICENCES}`;
window.ewcaReport = { report, embedding, plan: planSection };

// Contents: a link for every section that there is.
for (const section of document.querySelectorAll<HTMLElement>('main > section:not([hidden])')) {
  byId('contents').append(el('a', { href: `#${section.id}` }, section.querySelector('h2')!.textContent!));
}

// In a notebook's frame, links to parts of the page would lead to the notebook's address.
if (isEmbedded()) {
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest('a[href^="#"]');
    if (!link) return;
    event.preventDefault();
    byId(link.getAttribute('href')!.slice(1)).scrollIntoView();
  });
}

// Light and dark: the system's, unless the reader chooses. Canvases must be drawn again.
const theme = byId<HTMLButtonElement>('theme');
function restyle(): void {
  theme.textContent = isDark() ? 'Light' : 'Dark';
  embedding.restyle();
  planSection.restyle();
  for (const plot of [...paths, ...courses]) plot.redraw(false, true);
}
theme.addEventListener('click', () => {
  document.documentElement.dataset['theme'] = isDark() ? 'light' : 'dark';
  restyle();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', restyle);
matchMedia('print').addEventListener('change', restyle);
byId('print').addEventListener('click', () => window.print());
byId('print').hidden = isEmbedded();
restyle();
