/**
 * For files that are the same for everybody and may be cached by anybody; a newer version may have other content under
 * the same name.
 */
export const FOR_EVERYBODY = 'public, max-age=300';

/** The same for files whose names change with their content. */
export const FOR_EVER = 'public, max-age=31536000, immutable';
