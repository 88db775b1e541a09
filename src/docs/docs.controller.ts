import { Controller, Get, Header, Param, Redirect, StreamableFile, UseGuards } from '@nestjs/common';
import { ApiExcludeController, type OpenAPIObject } from '@nestjs/swagger';
import { Public } from '../http/authentication/public.decorator';
import { routeNotFound } from '../http/errors/request-errors';
import { ApiDocument } from './api-document';
import { DocsEnabledGuard } from './docs-enabled.guard';
import { uiAsset } from './ui-assets';
import { UI_PAGE } from './ui-page';
import { UI_START } from './ui-start';

/** The API's document and the page that shows it; nothing of it comes from anywhere else. */
@ApiExcludeController()
@Public()
@UseGuards(DocsEnabledGuard)
@Controller()
export class DocsController {
  constructor(private readonly document: ApiDocument) {}

  @Get()
  @Redirect('/docs')
  home(): void {
    // The decorator says it all.
  }

  @Get('docs')
  @Header('Content-Type', 'text/html; charset=utf-8')
  page(): string {
    return UI_PAGE;
  }

  @Get('docs/openapi.json')
  openApi(): OpenAPIObject {
    return this.document.get();
  }

  @Get('docs/start.js')
  @Header('Content-Type', 'text/javascript; charset=utf-8')
  start(): string {
    return UI_START;
  }

  @Get('docs/:asset')
  async asset(@Param('asset') name: string): Promise<StreamableFile> {
    const found = await uiAsset(name);
    if (found === undefined) {
      throw routeNotFound();
    }
    return new StreamableFile(found.content, { type: found.type });
  }
}
