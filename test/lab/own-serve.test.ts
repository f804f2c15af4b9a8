import { test } from 'vitest';
import { holdAgainstItself } from './own-serve.js';

// Every line over every file stands in own-serve-*.long.test.ts.
test('keyway serve --revision 0.4.7 over a file with TLS and a domain is found to be of its line', () =>
  holdAgainstItself('0.4.7', 'the sample with TLS and a domain'));
