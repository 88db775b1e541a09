/** Values of an action that reviewers do not see. */
interface ReplacedValues {
  /** Pointers to secrets, which the service does not keep. */
  readonly secrets: readonly string[];
  /** Texts that were too large for reviewers, with their sizes in bytes. */
  readonly texts: readonly (readonly [pointer: string, bytes: unknown])[];
}

/** Finds what the service keeps in the place of secrets and of large texts, in arguments or in a result. */
export function replacedValues(value: unknown): ReplacedValues {
  const secrets: string[] = [];
  const texts: [string, unknown][] = [];
  const visit = (item: unknown, pointer: string): void => {
    if (typeof item !== 'object' || item === null) return;
    if ('$secret' in item) secrets.push(pointer);
    else if ('$hmac' in item && 'bytes' in item) texts.push([pointer, item.bytes]);
    else
      for (const [name, member] of Object.entries(item))
        visit(member, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`);
  };
  visit(value, '');
  return { secrets, texts };
}
