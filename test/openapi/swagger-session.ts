import { createContext, runInContext } from 'node:vm';

interface UiRequest {
  url: string;
  body?: string;
}
interface UiResponse {
  readonly status: number;
  readonly url: string;
  readonly body: unknown;
}
interface UiOptions {
  requestInterceptor(request: UiRequest): UiRequest;
  responseInterceptor(response: UiResponse): UiResponse;
}

/** Does to requests and responses what the page's own script does, without a browser. */
export class SwaggerSession {
  private readonly options: UiOptions;

  /** `script` is the content of `/docs/start.js`. */
  constructor(script: string) {
    let uiOptions: UiOptions | undefined;
    const stored = new Map<string, string>();
    const browser = {
      SwaggerUIBundle: (options: UiOptions) => (uiOptions = options),
      sessionStorage: {
        getItem: (key: string) => stored.get(key) ?? null,
        setItem: (key: string, value: string) => stored.set(key, value),
      },
    };
    runInContext(script, createContext(browser));
    if (uiOptions === undefined) throw new Error('The script did not start Swagger UI.');
    this.options = uiOptions;
  }

  /** The text, such as a path or a body, as the page sends it. */
  sent(text: string): string {
    return this.options.requestInterceptor({ url: text }).url;
  }

  /** The body as the page sends it. */
  sentBody(body: object): unknown {
    return JSON.parse(this.options.requestInterceptor({ url: '/', body: JSON.stringify(body) }).body ?? 'null');
  }

  receive(url: string, status: number, body: unknown): void {
    this.options.responseInterceptor({ url, status, body });
  }
}
