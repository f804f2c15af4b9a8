import { test } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { holdAgainstItself } from './own-serve.js';

test.each(REVISIONS)('keyway serve --revision $id over the sample with TLS and a domain is found to be of its line', ({
  id,
}) => holdAgainstItself(id, 'the sample with TLS and a domain'));
