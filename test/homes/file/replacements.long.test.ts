import './replacements.test.js';
