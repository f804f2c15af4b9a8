import { it } from 'vitest';
import { lookAtList, lookAtPages, lookAtWindows, SCREENS } from './controls.js';

it('at every width every control of every page is the element at its own centre, on a phone with 44 pixels around it, and nothing is cut', async () => {
  await lookAtPages(SCREENS);
});

it('at every width so it is in the list: with a selection, an order that is kept, and the sheet of a key', async () => {
  await lookAtList(SCREENS);
});

it('so it is in every window, on a phone and on a screen', async () => {
  // What opens as a window is no wider on a wide screen.
  await lookAtWindows(SCREENS.filter(({ width }) => [390, 600, 1024].includes(width)));
});
