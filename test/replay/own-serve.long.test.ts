import { describe, test } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { FILES, holdAgainstItself } from './own-serve.js';

describe.each(REVISIONS.map(({ id }) => id))('keyway serve --revision %s', (line) => {
  test.each(Object.keys(FILES))('over %s is found to be of its line', (file) => holdAgainstItself(line, file));
});
