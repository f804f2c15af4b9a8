import './patch.test.js';
