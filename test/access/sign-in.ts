const FIELD = /<input\b[^>]*>/g;

/** A person on the pages of an identity provider: follows redirects, keeps cookies, and fills in forms. */
export class SignIn {
  private readonly cookies = new Map<string, string>();

  /** `answers` holds what the person fills in, by the names of the fields. */
  constructor(private readonly answers: Readonly<Record<string, string>>) {}

  /** Goes through forms, from the page at `url` on, until a page has none. Returns that page. */
  async goThrough(url: string, fields?: URLSearchParams): Promise<string> {
    const [at, page] = await this.load(url, fields);
    const form = this.formOn(page, at);
    return form === null ? page : this.goThrough(form.action, form.fields);
  }

  private async load(url: string, fields?: URLSearchParams): Promise<[url: string, page: string]> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url, {
      redirect: 'manual',
      headers: { Cookie: cookie },
      ...(fields !== undefined && { method: 'POST', body: fields }),
    });
    for (const set of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      this.cookies.set(name, value);
    }
    const page = await answer.text();
    const next = answer.headers.get('location');
    if (next !== null) return this.load(new URL(next, url).href);
    if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${page}`);
    return [url, page];
  }

  private formOn(page: string, url: string): { readonly action: string; readonly fields: URLSearchParams } | null {
    const [, action] = /<form\b[^>]*\baction="([^"]+)"/.exec(page) ?? [];
    if (action === undefined) return null;
    const fields = new URLSearchParams();
    for (const [field] of page.matchAll(FIELD)) {
      const name = attribute(field, 'name');
      fields.set(name, this.answers[name] ?? attribute(field, 'value'));
    }
    return { action: new URL(action, url).href, fields };
  }
}

function attribute(element: string, name: string): string {
  return new RegExp(`\\b${name}="([^"]*)"`).exec(element)?.[1] ?? '';
}
