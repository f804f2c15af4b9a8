import { it } from 'vitest';
import { lookAtPages, PHONE } from './controls.js';

it('on a phone every control of every page is the element at its own centre with 44 pixels around it, and nothing is cut', async () => {
  await lookAtPages(PHONE);
});
