import './reads-of-stand-ins.test.js';
