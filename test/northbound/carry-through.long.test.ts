import './carry-through.test.js';
