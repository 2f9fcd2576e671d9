import { FONT, styleColour } from './dom';

/** How every axis looks, by the style sheet of the moment. */
export const AXIS = {
  font: FONT,
  stroke: (): string => styleColour('quiet'),
  grid: { stroke: (): string => styleColour('grid'), width: 1 },
  ticks: { stroke: (): string => styleColour('grid'), width: 1, size: 4 },
};
