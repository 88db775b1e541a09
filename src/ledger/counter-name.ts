/** The counter of the rows of a kind whose counted column has one value, such as `entities:type:service`. */
export function counterName(counter: string, column: string, value: unknown): string {
  return `${counter}:${column}:${String(value)}`;
}
