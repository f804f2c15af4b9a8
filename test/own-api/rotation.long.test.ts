import './rotation.test.js';
