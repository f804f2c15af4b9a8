import './keys.test.js';
