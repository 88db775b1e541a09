import { withoutLeadingSlash } from './resource-path';

/** The keys under which a policy that matches a resource can be filed. Made once per evaluation, used at many levels. */
export class ResourceProbe {
  readonly path: string;
  /** The path behind its type. */
  readonly typedPath: string;
  private prefixes: readonly string[] | null = null;

  constructor(resourceType: string, resourceId: string) {
    this.path = withoutLeadingSlash(resourceId);
    this.typedPath = `${resourceType}/${this.path}`;
  }

  /** Everything the path or the typed path lies below: of `docs/a/b` these are `docs` and `docs/a`. */
  ancestors(): readonly string[] {
    this.prefixes ??= [...prefixesOf(this.path), ...prefixesOf(this.typedPath)];
    return this.prefixes;
  }
}

function prefixesOf(path: string): string[] {
  const prefixes: string[] = [];
  for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1)) {
    prefixes.push(path.slice(0, slash));
  }
  return prefixes;
}
