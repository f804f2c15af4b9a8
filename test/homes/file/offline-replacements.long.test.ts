import './offline-replacements.test.js';
