import './versions.test.js';
