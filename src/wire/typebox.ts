/**
 * The part of TypeBox used at run time. The build bundles it into one file, because its 683 files took a third of a
 * second of every start.
 */
export { default as Type } from 'typebox';
export { Compile } from 'typebox/compile';
