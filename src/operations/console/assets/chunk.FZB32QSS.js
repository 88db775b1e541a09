import{l as e}from"./chunk.3U3ISIDN.js";function n(r){return r!==null&&Date.parse(r)>e()}export{n as a};
