import{a,b,c,d}from"./chunk.FJH5LVES.js";import"./chunk.7HTMZTL4.js";import"./chunk.35GLESCP.js";export{a as approvalOf,d as passkeysOf,c as registerPasskey,b as signedBy};
