import{l as e}from"./chunk.ITLMFC76.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
