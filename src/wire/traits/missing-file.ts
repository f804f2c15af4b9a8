/** The answer to a panel path with no file (protocol: "Static panel"). */
export interface MissingFileRule {
  readonly name: string;
  answersIndex(path: string): boolean;
}

/** Any such path gets the index page. */
export const indexForAnyMissingFile: MissingFileRule = { name: 'index page', answersIndex: () => true };

/** 404 for a path that contains a `.`, else the index page. */
export const notFoundForMissingFileWithDot: MissingFileRule = {
  name: '404 with a "."',
  answersIndex: (path) => !path.includes('.'),
};
