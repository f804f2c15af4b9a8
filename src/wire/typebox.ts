/**
 * The part of TypeBox used at run time. The build puts it into one file: as its 683 files it took a third of a second
 * of every start.
 */
export { default as Type } from 'typebox';
export { Compile } from 'typebox/compile';
