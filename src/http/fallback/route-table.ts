import { readingFault } from '../server/readable-target';

/** The part of an Express router's layer that tells which requests it answers. */
export interface RouteLayer {
  readonly route?: { readonly path: unknown; readonly methods: Readonly<Record<string, boolean | undefined>> };
  match(path: string): false | { readonly params: Readonly<Record<string, unknown>> };
}

/** Stands for a segment that cannot be read; as text it would be percent-encoded. */
const UNREADABLE_SEGMENT = '\uFFFD';

/** The methods that answer a path, `HEAD` with `GET`, in alphabetical order; none when the path is unknown. */
export function allowedMethods(layers: readonly RouteLayer[], path: string): string[] {
  const methods = new Set<string>();
  for (const layer of layers) {
    if (layer.match(path) !== false) {
      Object.keys(layer.route?.methods ?? {}).forEach((method) => methods.add(method.toUpperCase()));
    }
  }
  if (methods.has('GET')) {
    methods.add('HEAD');
  }
  return [...methods].sort();
}

/** Which parameter an unreadable path gives an unreadable value, such as `id`; undefined when no route has such a path. */
export function unreadableParameter(layers: readonly RouteLayer[], path: string): string | undefined {
  const segments = path.split('/').map((part) => (readingFault(part) === undefined ? part : UNREADABLE_SEGMENT));
  const readable = segments.join('/');
  for (const layer of layers) {
    const match = layer.match(readable);
    const parameters = match === false ? [] : Object.entries(match.params);
    const found = parameters.find(([, value]) => value === UNREADABLE_SEGMENT);
    if (found !== undefined) {
      return found[0];
    }
  }
  return undefined;
}
