//! Excel workbooks: those that openpyxl and XlsxWriter have written (tests/golden), and some that nobody would write.

use std::io::Write;
use std::path::{Path, PathBuf};

use ewca_io::{
    Annotation, Known, Metadata, Missing, ReadOptions, Table, TableFile, Values, inspect, read_table, read_table_from,
};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn sheet(name: &str) -> ReadOptions {
    ReadOptions { array: Some(name.into()), ..ReadOptions::default() }
}

fn bits(table: &Table) -> Vec<u64> {
    let Values::Dense(dense) = &table.values else { panic!("dense") };
    dense.data.iter().map(|value| value.to_bits()).collect()
}

/// The same table as the text of it gives, with every option of a text table.
#[test]
fn a_sheet_is_read_as_the_text_of_it() {
    let labelled = ReadOptions { label: Some("class".into()), ..ReadOptions::default() };
    let text = read_table(&golden("table.csv"), &labelled).unwrap();
    for (name, said) in [
        ("table.xlsx", &["sheet 'Sheet1' of an Excel workbook"][..]),
        ("book.xlsx", &["sheet 'Table S1' of an Excel workbook with 4 sheets", "2 lines before the table skipped"]),
    ] {
        let table = read_table(&golden(name), &labelled).unwrap();
        assert_eq!(bits(&table), bits(&text), "{name}");
        assert_eq!((&table.features, &table.ids, &table.labels), (&text.features, &text.ids, &text.labels), "{name}");
        assert_eq!(table.notes, said, "{name}");
        let promised = TableFile::at(&golden(name)).forecast(&labelled).unwrap();
        assert_eq!((promised.rows, promised.columns), (6, 4), "{name}");
        // Through a pipe, whatever it is called.
        let bytes = std::fs::read(golden(name)).unwrap();
        assert_eq!(bits(&read_table_from(&bytes[..], "-", &labelled).unwrap()), bits(&text), "{name}");
        let found = inspect(&golden(name), &ReadOptions::default()).unwrap();
        assert_eq!(
            (found.text_columns, found.notes),
            (vec!["class".to_string()], said.iter().map(|s| s.to_string()).collect())
        );
    }
    let turned = ReadOptions { transpose: true, id: Some("Name".into()), ..sheet("by gene") };
    let turned = read_table(&golden("book.xlsx"), &turned).unwrap();
    assert_eq!((bits(&turned), &turned.features, &turned.ids), (bits(&text), &text.features, &text.ids));
}

/// Dates are dates, formulas are what was calculated, and a text is one cell whatever is in it.
#[test]
fn cells_are_what_one_sees() {
    let read = |label: &str, ignore: &[&str]| {
        let ignore = ignore.iter().map(|name| name.to_string()).collect();
        let options = ReadOptions {
            label: Some(label.into()),
            id: Some("sample".into()),
            ignore,
            missing: Missing::Mean,
            ..sheet("samples & notes")
        };
        read_table(&golden("book.xlsx"), &options).unwrap()
    };
    let table = read("when", &["kept", "note"]);
    assert_eq!(table.labels.unwrap(), (1..=6).map(|day| format!("2024-03-0{day}")).collect::<Vec<_>>());
    assert_eq!(table.ids.unwrap(), ["s1", "s2", "s3", "s4", "s5", "s6"]);
    assert_eq!(table.features, ["dose", "double"]);
    let Values::Dense(values) = table.values else { panic!("dense") };
    assert_eq!(values.data, [0.5, 1.0, 1.3, 0.0, 1.0, 2.0, 1.0, 2.0, 2.0, 4.0, 2.0, 4.0]);
    assert_eq!(table.notes, ["sheet 'samples & notes' of an Excel workbook, 7 formulas read as values"]);
    assert_eq!(read("kept", &["when", "note"]).labels.unwrap(), ["TRUE", "FALSE", "TRUE", "TRUE", "TRUE", "FALSE"]);
    let notes = read("note", &["when", "kept"]).labels.unwrap();
    // pandas makes a formula of the fourth, which XlsxWriter does not calculate: it writes 0, as Excel would replace it.
    assert_eq!(notes, ["a\tb", "two lines", "say \"x\"", "0", "<b>&amp;</b>", "g\u{e8}ne"]);
}

/// A workbook of samples is metadata as a text is.
#[test]
fn metadata_may_be_a_workbook() {
    let metadata = Metadata::open(&golden("book.xlsx"), &ReadOptions::default()).unwrap();
    let ids: Vec<String> = ["s4", "s1"].map(String::from).to_vec();
    let joined = metadata.join(&ids, None, &["class".into()]).unwrap();
    assert_eq!(joined.samples, 2);
    let Annotation { name, known, .. } = &joined.annotations[0];
    let classes = vec!["green".to_string(), "red".into()];
    assert_eq!((&name[..], known), ("class", &Known::Classes { classes, codes: vec![Some(0), Some(1)] }));
    assert_eq!(metadata.notes()[0], "sheet 'Table S1' of an Excel workbook with 4 sheets");
}

#[test]
fn what_is_not_there_is_said() {
    let message = |name: &str, options: &ReadOptions| {
        let error = read_table(&golden(name), options).unwrap_err().to_string();
        error.rsplit_once("golden/").unwrap().1.to_string()
    };
    let sheets = "book.xlsx: has no sheet 'Sheet9'; choose one with `array`: Table S1, by gene, samples & notes, empty";
    assert_eq!(message("book.xlsx", &sheet("Sheet9")), sheets);
    let empty = "book.xlsx: has no cells in its sheet; choose another sheet, or check the workbook";
    assert_eq!(message("book.xlsx", &sheet("empty")), empty);
    // A hidden sheet is passed over, unless it is named.
    let second = read_table(&golden("hidden.xlsx"), &ReadOptions::default()).unwrap();
    assert_eq!(second.values.stored(), [1.0, 2.0, 3.0, 5.0]);
    let formula = "hidden.xlsx: has a formula without a value in cell B2; open the workbook in Excel or LibreOffice, which \
                   calculates it, and save it again";
    assert_eq!(message("hidden.xlsx", &sheet("first")), formula);
    // Messages name the row that one sees in the sheet.
    let cell = message("book.xlsx", &ReadOptions::default());
    assert!(cell.starts_with("book.xlsx, line 5, column 'class': 'red' is not a number"), "{cell}");
}

/// A workbook whose only sheet has this inside of `sheetData`, and whose shared texts are these.
fn workbook(rows: &str, strings: &str) -> Vec<u8> {
    let relation = |id: &str, kind: &str, target: &str| {
        format!("<Relationship Id='{id}' Type='http://x/{kind}' Target='{target}'/>")
    };
    let parts = [
        ("[Content_Types].xml", "<Types/>".to_string()),
        ("_rels/.rels", format!("<r>{}</r>", relation("a", "officeDocument", "xl/book.xml"))),
        (
            "xl/_rels/book.xml.rels",
            format!(
                "<r>{}{}</r>",
                relation("b", "worksheet", "/xl/../xl/./one.xml"),
                relation("c", "sharedStrings", "s.xml")
            ),
        ),
        ("xl/book.xml", "<x:workbook><x:sheets><x:sheet name='one' r:id='b'/></x:sheets></x:workbook>".into()),
        ("xl/one.xml", format!("<x:worksheet><x:sheetData>{rows}</x:sheetData></x:worksheet>")),
        ("xl/s.xml", format!("<sst uniqueCount='1000000000000'>{strings}</sst>")),
    ];
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in parts {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(content.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn read(rows: &str, strings: &str) -> Result<Table, String> {
    let options = ReadOptions { missing: Missing::Mean, max_bytes: Some(1 << 22), ..ReadOptions::default() };
    read_table_from(&workbook(rows, strings)[..], "t.xlsx", &options).map_err(|error| error.to_string())
}

/// Prefixes, cells without a place, texts of several looks with their pronunciation, and signs by number.
#[test]
fn what_the_format_allows_is_read() {
    let strings =
        "<si><r><t>a</t></r><r><t>b&amp;&#99;</t></r><rPh><t>x</t></rPh></si><si/><si><t><![CDATA[d]]></t></si>";
    let rows = "<row><c t='s'><v>0</v></c><c t='s'><v>2</v></c></row>\
                <row r='4'><c r='A4'><v> 1.5 </v></c><c r='B4' t='str'><f>x</f><v>2</v></c><c r='D4' t='s'><v>1</v></c></row>\
                <row><c t='inlineStr'><is><t>3</t></is></c><c t='e'><v>#N/A</v></c></row>";
    let table = read(rows, strings).unwrap();
    assert_eq!(table.features, ["ab&c", "d"]);
    assert_eq!(table.values.stored(), [1.5, 2.0, 3.0, 2.0]);
}

#[test]
fn what_no_program_writes_is_refused() {
    let cell = |place: &str| format!("<row r='1'><c r='{place}'><v>1</v></c></row>");
    let far: String = (1..400)
        .map(|row| format!("<row r='{row}'><c r='A{row}'><v>1</v></c><c r='XFD{row}'><v>1</v></c></row>"))
        .collect();
    let long = format!("<si><t>{}</t></si>", "x".repeat(32_000));
    let often = format!("<row>{}</row>", "<c t='s'><v>0</v></c>".repeat(1000));
    let broken = "t.xlsx: is not a valid xlsx file: ";
    let large = "t.xlsx: is larger than 4.0 MiB";
    for (name, rows, strings, said) in [
        ("far", &far[..], "", large),
        ("often", &often, &long, large),
        ("many", "", &"<si/>".repeat(900_000), large),
        ("deep", &"<row>".repeat(200), "", "too deep"),
        ("long", &cell("A1").replace('1', &"1".repeat(1 << 21)), "", ""),
        ("long text", &format!("<row><c><v>{}</v></c></row>", "1".repeat(1 << 21)), "", "too long"),
        ("pieces", &format!("<row><c><v>{}</v></c></row>", "12<a/>".repeat(600_000)), "", "a cell is too long"),
        ("column", &cell("XFE1"), "", "is out of order"),
        ("letters", &cell("AAAAAAAAAA1"), "", "a cell has no position"),
        ("nowhere", &cell("1"), "", "a cell has no position"),
        ("rows", "<row r='2'/><row r='2'/>", "", "row 2 is out of order"),
        ("row", "<row r='1048577'/>", "", "row 1048577 is out of order"),
        ("cells", "<row><c r='B1'/><c r='A1'/></row>", "", "is out of order"),
        ("outside", "<c><v>1</v></c>", "", "is out of order"),
        ("no text", "<row><c t='s'><v>7</v></c></row>", "<si/>", "a text that does not exist"),
        ("huge text", "<row><c t='s'><v>18446744073709551615</v></c></row>", "", "a text that does not exist"),
        ("minus", "<row><c t='s'><v>-1</v></c></row>", "", "a cell refers to no text"),
        ("entity", "<row><c><v>&lol;</v></c></row>", "", "something unknown"),
        ("cut", "<row><c><v>1", "", broken),
        ("attribute", "<row r='1><c/></row>", "", broken),
        ("nothing", "", "", "has no cells in its sheet"),
    ] {
        let error = read(rows, strings).expect_err(name);
        assert!(error.contains(said) && !error.contains(char::is_control), "{name}: {error}");
    }
    let hostile = "<row><c t='inlineStr'><is><t>\u{1b}[2J</t></is></c></row><row><c t='inlineStr'><is><t>\u{202e}&#10;&#27;]0;x</t></is></c></row>";
    let error = read(hostile, "").unwrap_err();
    assert!(error.contains("line 2") && !error.contains(char::is_control), "{error}");
}
