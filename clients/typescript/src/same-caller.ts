/**
 * True if the service regards two keys or tokens as the same caller: it identifies a key by its text, and a token by
 * its issuer and subject.
 */
export function isSameCaller(left: string, right: string): boolean {
  const [subject, same] = [subjectOf(left), subjectOf(right)];
  return left.trim() === right.trim() || (subject !== null && subject === same);
}

/** Returns the issuer and subject of a token; null if the text is not a token. */
function subjectOf(token: string): string | null {
  const [, claims, signature] = token.trim().split('.');
  if (claims === undefined || signature === undefined) return null;
  try {
    const { iss, sub } = JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/'))) as Record<string, unknown>;
    return typeof iss === 'string' && typeof sub === 'string' ? JSON.stringify([iss, sub]) : null;
  } catch {
    return null;
  }
}
