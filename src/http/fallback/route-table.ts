/** The part of an Express router's layer that tells which requests it answers. */
export interface RouteLayer {
  readonly route?: { readonly path: unknown; readonly methods: Readonly<Record<string, boolean | undefined>> };
  match(path: string): unknown;
}

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
